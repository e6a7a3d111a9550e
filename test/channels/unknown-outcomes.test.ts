import { afterEach, describe, expect, test } from 'vitest'
import type { WhenUnknown } from '../../src/channels/provider.js'
import { channelModules, unknownClassOf } from '../../src/channels/registry.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { endWork } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'
import { canRun, everySubject } from './every-subject.js'
import type { Behaviour, ScriptedSide, Subject } from './subject.js'
import { standingOf, startUnknownWorker, type UnknownWorker } from './unknown-worker.js'

/** The engine with every real provider, each against a carrier that takes a message and loses its answer. */
let worker: UnknownWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await endWork(database.pool, worker)
  worker = undefined
})

/** Soon enough for tests, and never before a test ends. */
const SOON_MS = 50
const NEVER_MS = 86_400_000
const LONGEST = { timeout: 120_000 }

interface Delivery {
  side: ScriptedSide<unknown>
  /** Once it is so. */
  becomes(standing: { state: string; attempt: number }): Promise<void>
}

/** Accepts one delivery and sends it by the subject to a carrier that treats the first attempt and the next ones as the test says. */
async function deliver(
  subject: Subject<unknown>,
  behaviours: [Behaviour, Behaviour],
  settleMs: number,
  repeatAfterMs?: number,
): Promise<Delivery> {
  const side = await subject.start()
  side.behave(...behaviours)
  worker = await startUnknownWorker(database.pool, subject, side, settleMs, repeatAfterMs === undefined ? {} : { repeatAfterMs })
  const { body } = await send(gateway.url, account.token, { ...validSend, to: undefined, ...subject.request })
  const { idEmail } = body as { idEmail: string }
  return {
    side,
    becomes: standing => expect.poll(() => standingOf(database.pool, idEmail), LONGEST).toEqual(standing),
  }
}

type Statements = Record<string, (subject: Subject<unknown>) => Promise<void>>

const classes: Record<WhenUnknown, Statements> = {
  safe: {
    'is sent again at once, and the recipient can tell that both copies are one message': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'accept'], NEVER_MS)
      await becomes({ state: 'done', attempt: 2 })
      expect(side.taken()).toHaveLength(2)
      expect(new Set(side.taken()).size).toBe(1)
    },
    'is sent twice more and then left to a person, where every answer is lost': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'reset'], NEVER_MS)
      await becomes({ state: 'unresolved', attempt: 3 })
      expect(side.taken()).toHaveLength(3)
    },
  },
  report: {
    'waits for the carrier’s report, and is not sent again once it came': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'accept'], NEVER_MS)
      await becomes({ state: 'uncertain', attempt: 1 })
      await side.report!(worker!.onEvents)
      await becomes({ state: 'done', attempt: 1 })
      expect(side.taken()).toHaveLength(1)
    },
    'is left to a person where no report comes, not sent again, and resolved by a report that comes hours later':
      async subject => {
        const { side, becomes } = await deliver(subject, ['reset', 'accept'], SOON_MS)
        await becomes({ state: 'unresolved', attempt: 1 })
        await side.report!(worker!.onEvents)
        await becomes({ state: 'done', attempt: 1 })
        expect(side.taken()).toHaveLength(1)
      },
    'is left to a person also where the carrier never took it: without a report nobody can tell the two apart': async subject => {
      const { side, becomes } = await deliver(subject, ['drop', 'accept'], SOON_MS)
      await becomes({ state: 'unresolved', attempt: 1 })
      expect(side.taken()).toHaveLength(0)
    },
    'waits for the end of its validity where the operator chose to repeat': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'accept'], SOON_MS, NEVER_MS)
      const dueInMs = async () =>
        (
          await database.pool.query(
            "select extract(epoch from due_at - now()) * 1000 as ms from delivery where state = 'uncertain'",
          )
        ).rows[0]?.ms
      await expect.poll(async () => Number(await dueInMs()), LONGEST).toBeGreaterThan(NEVER_MS / 2)
      await becomes({ state: 'uncertain', attempt: 1 })
      expect(side.taken()).toHaveLength(1)
    },
    'is then sent once more under the same reference': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'accept'], SOON_MS, SOON_MS)
      await becomes({ state: 'done', attempt: 2 })
      expect(side.taken()).toHaveLength(2)
      expect(new Set(side.taken()).size).toBe(1)
    },
    'is left to a person where the second answer is lost too': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'reset'], SOON_MS, SOON_MS)
      await becomes({ state: 'unresolved', attempt: 2 })
      expect(side.taken()).toHaveLength(2)
    },
  },
  lookup: {
    'is asked for, and not sent again where the carrier took it': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'accept'], SOON_MS)
      await becomes({ state: 'done', attempt: 1 })
      expect(side.taken()).toHaveLength(1)
    },
    'is asked for, and sent once more where the carrier never took it': async subject => {
      const { side, becomes } = await deliver(subject, ['drop', 'accept'], SOON_MS)
      await becomes({ state: 'done', attempt: 2 })
      expect(side.taken()).toHaveLength(1)
    },
    'is neither sent again nor given up while the carrier cannot be asked': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'refuse for a while'], SOON_MS)
      await expect.poll(() => worker!.lookups(), LONGEST).toBeGreaterThan(1)
      await becomes({ state: 'uncertain', attempt: 1 })
      expect(side.taken()).toHaveLength(1)
    },
  },
  never: {
    'is left to a person and not sent again': async subject => {
      const { side, becomes } = await deliver(subject, ['reset', 'accept'], SOON_MS)
      await becomes({ state: 'unresolved', attempt: 1 })
      expect(side.taken()).toHaveLength(1)
    },
  },
}

test('every provider of the gateway has a subject here', () => {
  const registered = channelModules.flatMap(({ providers }) => Object.keys(providers))
  expect(everySubject.map(({ name }) => name).sort()).toEqual(registered.sort())
})

test.each(everySubject)('the class that is known by the name $name is the provider’s own, real or simulated', async subject => {
  const { whenUnknown } = (await subject.start()).provider({ pool: database.pool, onEvents: async () => {} })
  const { name } = subject
  expect([unknownClassOf(name), unknownClassOf(`simulator/${name}`)]).toEqual([whenUnknown, whenUnknown])
})

test('an attempt of a provider that nobody knows is left to a person', () => {
  expect(unknownClassOf('pigeon')).toBe('never')
})

describe.each(everySubject)('a message to $name whose answer was lost', subject => {
  const statements = Object.entries(classes[unknownClassOf(subject.name)])
  test.skipIf(!canRun(subject)).each(statements)('%s', (_, statement) => statement(subject))
})
