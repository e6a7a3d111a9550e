import { afterEach, expect, test } from 'vitest'
import type { WhenUnknown } from '../../src/channels/provider.js'
import { unknownClassOf } from '../../src/channels/registry.js'
import { gatewayForFile } from '../support/gateway/gateway.js'
import { endWork } from '../support/gateway/lanes.js'
import { send, validSend } from '../support/gateway/requests.js'
import { canRun, everySubject } from './every-subject.js'
import type { ScriptedSide, Subject } from './subject.js'
import { standingOf, startUnknownWorker, type UnknownWorker } from './unknown-worker.js'

/** The only carrier of a provider is exchanged for another one while the outcome of a message is unknown. */
let worker: UnknownWorker | undefined

const { database, gateway, account } = await gatewayForFile()

afterEach(async () => {
  await endWork(database.pool, worker)
  worker = undefined
})

const SOON_MS = 50
const NEVER_MS = 86_400_000
const LONGEST = { timeout: 120_000 }

/** Where a message stands when its carrier takes every copy of it and never answers. */
const unanswered: Record<WhenUnknown, { state: string; attempt: number }> = {
  safe: { state: 'unresolved', attempt: 3 },
  report: { state: 'uncertain', attempt: 1 },
  lookup: { state: 'uncertain', attempt: 1 },
  never: { state: 'uncertain', attempt: 1 },
}

/** Where it stands once its carrier is gone: what nobody can be asked about is left to a person at once. */
const left = { ...unanswered, never: { state: 'unresolved', attempt: 1 } }

async function accept(subject: Subject<unknown>): Promise<string> {
  const { body } = await send(gateway.url, account.token, { ...validSend, to: undefined, ...subject.request })
  return (body as { idEmail: string }).idEmail
}

const becomes = (id: string, standing: object): Promise<void> =>
  expect.poll(() => standingOf(database.pool, id), LONGEST).toMatchObject(standing)

const work = async (subject: Subject<unknown>, side: ScriptedSide<unknown>, identity: string, settleMs: number) => {
  worker = await startUnknownWorker(database.pool, subject, side, settleMs, { identity })
}

const title = 'the new carrier of $name neither gets nor answers for a message of the old one'
test.for(everySubject)(title, async (subject, { skip }) => {
  skip(!canRun(subject), 'a program that it needs is missing')
  const { name } = subject
  const [old, next] = [await subject.start(), await subject.start()]
  old.behave('reset')
  await work(subject, old, `${name}:old/1`, NEVER_MS)
  const id = await accept(subject)
  await becomes(id, unanswered[unknownClassOf(name)])
  await worker!.stop()
  const taken = old.taken().length

  await work(subject, next, `${name}:new/2`, SOON_MS)
  await database.pool.query("update delivery set due_at = now() where notification_id = $1 and state = 'uncertain'", [id])
  // The new carrier works: what is sent now is its own.
  await becomes(await accept(subject), { state: 'done', attempt: 1 })
  // An unknown outcome was looked at and put off, without a question to anybody.
  const isLeft = "state = 'unresolved' or due_at > now() + interval '10 minutes'"
  const lookedAt = async () =>
    (await database.pool.query(`select ${isLeft} as left from delivery where notification_id = $1`, [id])).rows[0].left
  await expect.poll(lookedAt, LONGEST).toBe(true)
  expect(await standingOf(database.pool, id)).toEqual(left[unknownClassOf(name)])
  expect(worker!.lookups()).toBe(0)
  expect(next.taken()).toHaveLength(1)
  expect(old.taken()).toHaveLength(taken)
})
