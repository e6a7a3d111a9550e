import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { eCartaProvider } from '../../../src/channels/letter/e-carta/e-carta.js'
import type { LotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import { createLotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import type { LetterMessage } from '../../../src/channels/letter/letter-message.js'
import type { Carrier } from '../../../src/channels/provider.js'
import { findReference } from '../../../src/store/carrier/references.js'
import { createDatabase, type TestDatabase } from '../../support/database/database.js'
import { letterTo } from './letters.js'
import { type SftpPost, startSftpPost } from './sftp-post.js'

/** e-Carta with its process killed before and after every step: no letter is printed twice, none is lost without a word. */
let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** Every step of a hand-over, and of looking for a lot, with what was done so far. */
type Step = `${string} ${'before' | 'after'}`

let lives = 0

/** One process: from the step at which it is killed on, nothing that it does reaches anybody. */
class Life {
  readonly steps: Step[] = []
  readonly #user = `life${++lives}`
  readonly #post: SftpPost
  readonly #killAt: number
  #dead = false
  readonly #killed: Promise<void>
  #tell = (): void => {}

  constructor(post: SftpPost, killAt = Number.POSITIVE_INFINITY) {
    this.#post = post
    this.#killAt = killAt
    this.#killed = new Promise(resolve => {
      this.#tell = resolve
    })
    const others = post.on
    post.on = (operation, when, user) => {
      if (user !== this.#user) return others(operation, when, user)
      return this.#passes(`${operation} ${when}`) ? 'go' : 'cut'
    }
  }

  /** Whether it lives on. */
  #passes(step: Step): boolean {
    if (!this.#dead && this.steps.push(step) <= this.#killAt) return true
    this.#dead = true
    this.#tell()
    return false
  }

  async carrier(): Promise<Carrier<LetterMessage>> {
    let bury = (_: Error): void => {}
    const gone = new Promise<never>((_, reject) => {
      bury = reject
    })
    gone.catch(() => {})
    const journal = Object.fromEntries(
      Object.entries(createLotJournal(database.pool, 'e-carta')).map(([name, call]) => [
        name,
        async (...given: unknown[]) => {
          if (!this.#passes(`${name} before`)) return gone
          const result = await (call as (...given: unknown[]) => Promise<unknown>)(...given)
          return this.#passes(`${name} after`) ? result : gone
        },
      ]),
    ) as unknown as LotJournal
    const options = {
      journal,
      privateKey: null,
      clock: Date.now,
      onEvents: async () => {},
      onReceipt: async () => {},
      onError: () => {},
    }
    const carrier = await eCartaProvider(options).open(this.#post.url(this.#user))
    onTestFinished(() => {
      this.#dead = true
      bury(new Error('killed'))
      return carrier.close()
    })
    return carrier
  }

  /** As the engine does it: whoever was sent before is asked for first. */
  async deliver(letters: readonly LetterMessage[], again: boolean): Promise<Outcome[]> {
    const carrier = await this.carrier()
    const killed = this.#killed.then(() => 'killed' as const)
    return Promise.all(letters.map(letter => Promise.race([carry(carrier, letter, again), killed])))
  }
}

type Outcome = 'taken' | 'uncertain' | 'killed'

async function carry(carrier: Carrier<LetterMessage>, letter: LetterMessage, again: boolean): Promise<Outcome> {
  const signal = AbortSignal.timeout(120_000)
  try {
    const found = again ? await carrier.find!(letter.reference, null, signal) : 'unknown'
    if (found === 'unknown') await carrier.send(letter, signal)
    return 'taken'
  } catch {
    return 'uncertain'
  }
}

const twoLetters = (): LetterMessage[] => [letterTo('01000001'), letterTo('01000001')]
const textOf = ({ pdf }: LetterMessage): string => Buffer.from(pdf).toString()
const timesPrinted = ({ printed }: SftpPost, letter: LetterMessage): number =>
  printed.filter(text => text === textOf(letter)).length

/** The steps of a hand-over that nothing disturbs, and of one after a death at `killAt`. */
async function stepsOf(killAt?: number): Promise<Step[]> {
  const post = await startSftpPost()
  const letters = [letterTo('01000001')]
  if (killAt !== undefined) await new Life(post, killAt).deliver(letters, false)
  const life = new Life(post)
  await life.deliver(letters, killAt !== undefined)
  return life.steps
}

describe.each([
  ['takes lots away at once', true],
  ['leaves lots where they are', false],
])('the post %s', (_, takesAway) => {
  test('a process killed at any step of a hand-over: each letter is printed once, or shown to a person, never printed twice', async () => {
    const steps = await stepsOf()
    expect(steps).toEqual(expect.arrayContaining(['open after', 'begin before', 'begin after', 'rename after', 'uploaded after']))
    const killAndTakeUp = async (step: Step, killAt: number): Promise<Outcome[]> => {
      const post = await startSftpPost()
      post.takesAway = takesAway
      const letters = twoLetters()
      expect(await new Life(post, killAt).deliver(letters, false), step).toEqual(['killed', 'killed'])
      const outcomes = await new Life(post).deliver(letters, true)
      for (const [index, letter] of letters.entries()) {
        expect([step, outcomes[index], timesPrinted(post, letter)]).toEqual([step, outcomes[index], 1])
      }
      expect(readdirSync(post.folder).filter(name => name.endsWith('.void'))).toEqual([])
      return outcomes
    }
    const outcomes = await Promise.all(steps.map(killAndTakeUp))
    const uncertain = steps.filter((_, killAt) => outcomes[killAt]!.includes('uncertain'))
    // Only where the file is gone and nobody lives who saw it leave.
    expect(uncertain).toEqual(takesAway ? ['rename after', 'uploaded before'] : [])
  })
})

test('a second process killed while it looks up the lot of the first one: the third one prints nothing twice', async () => {
  const first = (await stepsOf()).indexOf('begin after')
  const steps = await stepsOf(first)
  expect(steps).toEqual(expect.arrayContaining(['rename after', 'dissolve after', 'begin after', 'uploaded after']))
  const killTwice = async (step: Step, killAt: number): Promise<void> => {
    const post = await startSftpPost()
    post.takesAway = true
    const letters = [letterTo('01000001')]
    await new Life(post, first).deliver(letters, false)
    await new Life(post, killAt).deliver(letters, true)
    const outcomes = await new Life(post).deliver(letters, true)
    for (const [index, letter] of letters.entries()) {
      const times = timesPrinted(post, letter)
      expect(times, step).toBeLessThanOrEqual(1)
      if (outcomes[index] === 'taken') expect(times, step).toBe(1)
    }
  }
  await Promise.all(steps.map(killTwice))
})

test('a lot that is gone from the server is settled by the reports on its letters, although the worker died before it recorded the upload', async () => {
  const post = await startSftpPost()
  post.takesAway = true
  const letters = twoLetters()
  await new Life(post, (await stepsOf()).indexOf('rename after')).deliver(letters, false)
  const { rows } = await database.pool.query<{ lot: number; object: number }>(
    'select lot, object from letter_lot_object where reference = $1',
    [letters[0]!.reference],
  )
  const { lot, object } = rows[0]!
  expect(await findReference(database.pool, ['e-carta'], [`${lot}.${object}`])).toMatchObject({
    notification: letters[0]!.reference.split('.')[0],
    ordinal: 1,
  })
})
