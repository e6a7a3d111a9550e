import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eCartaProvider } from '../../../src/channels/letter/e-carta/e-carta.js'
import { createLotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import type { LotJournal } from '../../../src/channels/letter/e-carta/lots.js'
import type { LetterMessage } from '../../../src/channels/provider.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { type ContractDesk, describeContract, type Faults } from '../contract.js'
import { letterTo } from './letters.js'
import { startSftpPost } from './sftp-post.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

/** The database is there only once the tests run. */
const journal = new Proxy({} as LotJournal, {
  get: (_, name) => createLotJournal(database.pool, 'e-carta')[name as keyof LotJournal],
})

async function startPost(): Promise<ContractDesk & { printed: string[] }> {
  const post = await startSftpPost()
  let faults: Faults = {}
  post.on = (operation, when) => {
    if (faults.errorRate === 1 && when === 'before') return 'fail'
    if (operation !== 'rename' || when === 'before') return 'go'
    // Taken, and never answered.
    if (faults.latencyMs !== undefined) return new Promise(() => {})
    return faults.resetAfterAccept === true ? 'cut' : 'go'
  }
  return {
    carrier: post.url(),
    printed: post.printed,
    count: () => post.printed.length,
    setFaults(given) {
      faults = given
      post.open = given.outage !== true
    },
  }
}

/** References as claims make them, the same one for the same name. */
const letters = new Map<string, LetterMessage>()
function letterNamed(name: string): LetterMessage {
  const letter = letters.get(name) ?? letterTo('01000001')
  letters.set(name, letter)
  return letter
}

const provider = eCartaProvider({
  journal,
  privateKey: null,
  onEvents: async () => {},
  onReceipt: async () => {},
  onError: () => {},
})

describeContract({
  provider,
  channel: 'letter',
  desk: startPost,
  named: true,
  taken: letterNamed,
  // A folder refuses nothing: what the post finds wrong it says in a return.
  refused: {},
})

test('a letter that failed is not uploaded with the others of its lot', async () => {
  const post = await startPost()
  const carrier = await provider.open(post.carrier)
  onTestFinished(() => carrier.close())
  const [givenUp, tried] = [letterTo('01000001'), letterTo('01000001')]
  post.setFaults({ errorRate: 1 })
  const failed = await Promise.allSettled([givenUp, tried].map(letter => carrier.send(letter, AbortSignal.timeout(15_000))))
  expect(failed).toMatchObject([{ reason: { kind: 'temporary' } }, { reason: { kind: 'temporary' } }])
  post.setFaults({})
  await carrier.send(tried, AbortSignal.timeout(15_000))
  expect(post.printed).toEqual([Buffer.from(tried.pdf).toString()])
})
