import { beforeAll, describe, expect, test } from 'vitest'
import { inTurns } from '../../../src/app/worker/upkeep.js'
import { TRACKED_DAYS } from '../../../src/channels/letter/letter-store.js'
import { keepReceipt } from '../../../src/channels/letter/receipts.js'
import { channels, referenceTerms } from '../../../src/channels/registry.js'
import { takeRecording } from '../../../src/channels/voice/recordings.js'
import { completeSettings } from '../../../src/domain/account.js'
import { gradeOf } from '../../../src/domain/evidence/grade.js'
import { termsOf } from '../../../src/domain/retention.js'
import { DAY_MS } from '../../../src/domain/units.js'
import { endTerms } from '../../../src/engine/ageing/retention.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { contextOf, eventOf } from '../../../src/evidence/documents/facts-of.js'
import { updateSettings } from '../../../src/store/accounts/accounts.js'
import { deleteStaleReferences } from '../../../src/store/carrier/references.js'
import { takeChoreTurn } from '../../../src/store/chore-turns.js'
import { readDossier } from '../../../src/store/evidence/dossier.js'
import { readTimeline } from '../../../src/store/notification/event-log.js'
import { placeLegalHold, releaseLegalHold } from '../../../src/store/notification/legal-holds.js'
import { transaction } from '../../../src/store/postgres.js'
import { pruneAttempts } from '../../../src/store/webhook/attempts.js'
import { pruneMessages } from '../../../src/store/webhook/messages.js'
import { brokenChains } from '../../support/evidence/chain.js'
import { createAccount, gatewayForFile, type TestAccount } from '../../support/gateway/gateway.js'
import { ScriptedCarrier, startTestWorker } from '../../support/gateway/lanes.js'
import { openLink, sendNotification } from '../../support/gateway/recipients.js'
import { visit } from '../../support/gateway/visitor.js'
import { createWebhook } from '../../support/gateway/webhooks.js'

/** The terms of an account, kind by kind: the clock goes ahead, the notifications stay. */
const { database, gateway } = await gatewayForFile()
const { pool } = database
const DAY = 86_400_000
const inDays = (days: number) => () => Date.now() + days * DAY

const attachments = [{ name: 'a.txt', base64: 'YWJj' }]
const sendTo = async (account: TestAccount, body: object = {}) => {
  const sent = await sendNotification(gateway, pool, account, { attachments, ...body })
  await openLink(sent.url, sent.target)
  return sent
}

/** Which kinds of data of a notification are still there. */
async function left(id: string): Promise<string[]> {
  const { rows } = await pool.query(
    `select n.content is not null as content, n.recipient_name is not null as name, n.erased_at is null as alive,
       exists (select from attachment where notification_id = n.id) as attachments,
       exists (select from event where notification_id = n.id and source = 'recipient' and salt is not null) as visits,
       exists (select from event where notification_id = n.id and source <> 'recipient' and salt is not null) as events,
       exists (select from recording where notification_id = n.id and state = 'kept') as recordings,
       exists (select from letter where notification_id = n.id) as letters
     from notification n where n.id = $1`,
    [id],
  )
  return Object.keys(rows[0]).filter(kind => rows[0][kind])
}

const ALL = ['content', 'name', 'alive', 'attachments', 'visits', 'events', 'recordings', 'letters']

describe('terms', () => {
  let account: TestAccount
  let id: string
  beforeAll(async () => {
    account = await createAccount(pool, {
      name: 'acme',
      settings: {
        'retention.content': 100,
        'retention.attachments': 10,
        'retention.visits': 20,
        'retention.recordings': 30,
        'retention.letters': 40,
        'retention.events': 1_000,
      },
    })
    id = (await sendTo(account)).id
    await pool.query(
      "insert into recording (carrier, name, notification_id, ordinal, state, sha256) values ('c', 'n', $1, 1, 'kept', 'x')",
      [id],
    )
    await pool.query("insert into letter (notification_id, ordinal, sha256, pages, sheet) values ($1, 1, 'x', 1, '{}')", [id])
  })

  test('each kind goes when its own term is over, and everything with the last one', async () => {
    const steps: [number, string[]][] = [
      [9, []],
      [11, ['attachments']],
      [21, ['visits']],
      [31, ['recordings']],
      [41, ['letters']],
      [101, ['content']],
      [999, []],
    ]
    let expected = ALL
    for (const [days, gone] of steps) {
      await endTerms({ pool, clock: inDays(days) })
      expected = expected.filter(kind => !gone.includes(kind))
      expect([days, await left(id)]).toEqual([days, expected])
    }
    await endTerms({ pool, clock: inDays(1_001) })
    expect(await left(id)).toEqual([])
    expect(await brokenChains(pool)).toEqual([])
  })

  test('where an account sets nothing, ten years; without a term, nothing ends', () => {
    expect(termsOf(completeSettings({}))).toEqual([{ kind: 'events', days: 3_650 }])
    expect(termsOf(completeSettings({ 'retention.events': 0, 'retention.visits': 30 }))).toEqual([{ kind: 'visits', days: 30 }])
    expect(termsOf(completeSettings({ 'retention.events': 30, 'retention.content': 40 }))).toEqual([{ kind: 'events', days: 30 }])
  })
})

test('with the content goes the answer to its question; the question stays, and with it what the visits prove', async () => {
  const settings = { validation: true, 'retention.content': 100, 'retention.events': 1_000 }
  const account = await createAccount(pool, { settings })
  const validation = { question: 'Quais são os três últimos dígitos do seu CPF?', reply: '123' }
  const { id, url } = await sendNotification(gateway, pool, account, { validation })
  const { record } = createRecorder(pool, Date.now, { notify() {} })
  for (const by of ['reply', 'message', 'confirm']) {
    const type = by === 'confirm' ? 'confirmed' : by === 'reply' ? 'read' : 'note'
    const data = { by, address: '198.51.100.7' }
    await record({ kind: 'fact', notification: id, fact: { channel: 'email', type, at: new Date(), source: 'recipient', data } })
  }
  const scope = { account: account.id, mode: 'live' } as const
  const seen = async () => {
    const dossier = (await readDossier(pool, scope, id))!
    const timeline = (await readTimeline(pool, scope, id))!
    return {
      question: dossier.question,
      hasQuestion: timeline.hasQuestion,
      grades: dossier.events.map(event => gradeOf(eventOf(event), contextOf(dossier)).word),
    }
  }
  const before = await seen()
  expect(before.grades.filter(word => word === 'answer')).toHaveLength(3)
  await endTerms({ pool, clock: inDays(101) })
  expect(await seen()).toEqual(before)
  const stored = async () => (await pool.query('select content, validation from notification where id = $1', [id])).rows[0]
  expect(await stored()).toEqual({ content: null, validation: { question: validation.question } })
  for (const path of ['', '/pergunta', '/mensagem']) expect((await visit(`${url}${path}`)).status).toBe(404)
  await endTerms({ pool, clock: inDays(1_001) })
  expect(await stored()).toEqual({ content: null, validation: null })
})

test('a notification that had no files or letters is not called incomplete when theirs are over: it can still be sent', async () => {
  const account = await createAccount(pool, { settings: { 'retention.attachments': 1, 'retention.letters': 1 } })
  const [plain, withFile, withLetter] = [
    await sendTo(account, { attachments: [] }),
    await sendTo(account),
    await sendTo(account, { attachments: [] }),
  ]
  await pool.query("insert into letter (notification_id, ordinal, sha256, pages, sheet) values ($1, 1, 'x', 1, '{}')", [
    withLetter.id,
  ])
  await endTerms({ pool, clock: inDays(2) })
  const { rows } = await pool.query('select id from notification where account_id = $1 and incomplete_since is not null', [
    account.id,
  ])
  expect(rows.map(({ id }) => id).sort()).toEqual([withFile.id, withLetter.id].sort())
  expect(await left(plain.id)).toContain('content')
})

test('what comes after its term goes with the next run: a visit of an old link, a receipt, a recording', async () => {
  const settings = { 'retention.visits': 1, 'retention.letters': 1, 'retention.recordings': 1 }
  const account = await createAccount(pool, { settings })
  const [{ id }, other] = [await sendTo(account), await sendTo(account)]
  const clock = inDays(2)
  await endTerms({ pool, clock })
  expect(await left(id)).not.toContain('visits')
  const { record } = createRecorder(pool, Date.now, { notify() {} })
  const visit = { channel: 'email', type: 'note', at: new Date(), source: 'recipient', data: { address: '192.0.2.1' } } as const
  await record({ kind: 'fact', notification: id, fact: visit })
  const source = { notification: id, ordinal: 1, carrier: 'c' }
  await keepReceipt({ pool, clock: Date.now, record }, source, { type: 'png', bytes: Buffer.from('x') })
  const announced = { kind: 'file', of: { ours: `${id}.voice.1` }, id: 'late', seconds: 1 } as const
  await takeRecording(source, announced, { pool, clock: Date.now, record })
  const late = async () =>
    (
      await pool.query(
        `select (select count(*)::int from letter_receipt where notification_id = $1) as receipts,
           (select state from recording where notification_id = $1) as recording`,
        [id],
      )
    ).rows[0]
  expect(await left(id)).toContain('visits')
  expect(await late()).toEqual({ receipts: 1, recording: 'wanted' })
  await endTerms({ pool, clock })
  expect(await left(id)).toEqual(await left(other.id))
  expect(await late()).toEqual({ receipts: 0, recording: 'expired' })
  expect(await brokenChains(pool)).toEqual([])
})

test('what is held or still being delivered waits, and goes when it is free; other accounts are not touched', async () => {
  const account = await createAccount(pool, { name: 'short', settings: { 'retention.events': 30 } })
  const other = await createAccount(pool, { name: 'long' })
  const [held, open, plain, theirs] = [
    await sendTo(account),
    await sendTo(account, { sms: { number: '11987650002', typeSend: '1' } }),
    await sendTo(account),
    await sendTo(other),
  ]
  await transaction(pool, db => placeLegalHold(db, { notification: held.id, reason: 'processo', by: 'test' }))
  // A batch of one: the progress passes over what is postponed.
  const parts = { pool, clock: inDays(31), batch: 1 }
  await endTerms(parts)
  expect(await left(held.id)).toContain('content')
  expect(await left(open.id)).toContain('content')
  expect(await left(plain.id)).toEqual([])
  expect(await left(theirs.id)).toContain('content')
  await pool.query("update delivery set state = 'cancelled' where notification_id = $1", [open.id])
  await transaction(pool, db => releaseLegalHold(db, held.id))
  await endTerms({ ...parts, batch: 200 })
  expect([await left(held.id), await left(open.id)]).toEqual([[], []])
  expect((await pool.query('select from retention_postponed')).rowCount).toBe(0)
})

test('all that was postponed is looked at in one run, however many batches it takes, and each once', async () => {
  const account = await createAccount(pool, { settings: { 'retention.events': 30 } })
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.push((await sendNotification(gateway, pool, account)).id)
  for (const id of ids) await transaction(pool, db => placeLegalHold(db, { notification: id, reason: 'processo', by: 'test' }))
  const parts = { pool, clock: inDays(31), batch: 2 }
  await endTerms(parts)
  const looks = async (): Promise<string[]> =>
    (
      await pool.query<{ at: string }>(
        'select tried_at::text as at from retention_postponed where account_id = $1 order by notification_id',
        [account.id],
      )
    ).rows.map(({ at }) => at)
  const first = await looks()
  expect(first).toHaveLength(5)
  // Still held: the run ends, and has looked at every one of them.
  await endTerms(parts)
  for (const [index, at] of (await looks()).entries()) expect(at).not.toBe(first[index])
  for (const id of ids) await transaction(pool, db => releaseLegalHold(db, id))
  await endTerms({ ...parts, batch: 2 }, AbortSignal.abort())
  expect(await looks()).toHaveLength(5)
  await endTerms(parts)
  expect(await looks()).toEqual([])
  for (const id of ids) expect(await left(id)).toEqual([])
})

describe('a backlog', () => {
  const short = () => createAccount(pool, { settings: { 'retention.events': 30 } })
  const alive = async ({ id }: TestAccount): Promise<number> =>
    (await pool.query('select from notification where account_id = $1 and erased_at is null', [id])).rowCount!
  const parts = { pool, clock: inDays(31), batch: 1, roundBatches: 1 }

  test('of any length goes in one run, in rounds in which each account has its turn', async () => {
    const accounts = [await short(), await short()]
    for (const account of accounts) for (let n = 0; n < 4; n++) await sendNotification(gateway, pool, account)
    const seen: string[] = []
    await endTerms(parts, undefined, async () => {
      const counts = await Promise.all(accounts.map(alive))
      if (seen.at(-1) !== counts.join(' ')) seen.push(counts.join(' '))
    })
    expect(seen.filter(counts => counts !== '4 4')).toEqual(['3 4', '3 3', '2 3', '2 2', '1 2', '1 1', '0 1', '0 0'])
  })

  test('stays where it is when the node is told to stop, and the next run goes on', async () => {
    const account = await short()
    for (let n = 0; n < 3; n++) await sendNotification(gateway, pool, account)
    const stop = new AbortController()
    await endTerms(parts, stop.signal, async () => {
      if ((await alive(account)) < 3) stop.abort()
    })
    expect(await alive(account)).toBe(2)
    await endTerms(parts)
    expect(await alive(account)).toBe(0)
  })

  test('of references goes in one run too, from the oldest that are kept on', async () => {
    const account = await createAccount(pool, { settings: { 'retention.references': 7 } })
    const { id } = await sendNotification(gateway, pool, account)
    await pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
       select 'backlog', n::text, $1, 'email', 1, 1, 1, now() - n * interval '1 day' from generate_series(1, 80) as n`,
      [id],
    )
    await endTerms({ pool, clock: Date.now })
    const { rows } = await pool.query("select reference from carrier_reference where carrier = 'backlog'")
    expect(rows.map(({ reference }) => Number(reference)).sort()).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('keeps the turn of the node that is at it', async () => {
    const turns: boolean[] = []
    const expire = () => pool.query("update chore_turn set due_at = now() - interval '1 second' where chore = 'long'")
    const run = async (_: AbortSignal | undefined, keepTurn?: () => Promise<void>): Promise<void> => {
      await expire()
      await keepTurn!()
      turns.push(await takeChoreTurn(pool, 'long', 60_000))
      await expire()
      turns.push(await takeChoreTurn(pool, 'long', 60_000))
    }
    await inTurns(pool, [{ name: 'long', everyMs: 60_000, oneNode: true, run }])[0]!.run()
    expect(turns).toEqual([false, true])
  })
})

test('carriers’ references are kept while carriers may report on their messages, those of letters longest', async () => {
  const add = (channel: string, days: number) =>
    pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
       values ('terms', $1 || ' of ' || $2::int, gen_random_uuid(), $1, 1, 1, 1, now() - $2 * interval '1 day')`,
      [channel, days],
    )
  for (const channel of channels) for (const days of [89, 91, TRACKED_DAYS + 30, 300]) await add(channel, days)
  await deleteStaleReferences(pool, referenceTerms)
  const { rows } = await pool.query("select reference from carrier_reference where carrier = 'terms'")
  const kept = [...channels.map(channel => `${channel} of 89`), 'letter of 91', `letter of ${TRACKED_DAYS + 30}`]
  expect(rows.map(({ reference }) => reference).sort()).toEqual(kept.sort())
})

test('messages to webhooks and carriers’ references have the account’s own term, where it is shorter', async () => {
  const account = await createAccount(pool, { settings: { 'retention.webhooks': 5, 'retention.references': 7 } })
  const usual = await createAccount(pool)
  const ids: string[] = []
  for (const one of [account, usual]) {
    await createWebhook(gateway.url, one.token, { url: 'https://sender.example/hook' })
    const { id } = await sendNotification(gateway, pool, one)
    ids.push(id)
    await pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
       values ('c', $2, $1, 'email', 1, 1, 1, now() - interval '8 days'), ('c', 'letter ' || $2, $1, 'letter', 1, 1, 1, now() - interval '200 days')`,
      [id, id],
    )
  }
  await pool.query("update webhook_message set state = 'done', created_at = now() - interval '6 days'")
  await pool.query(
    `insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms)
     select endpoint_id, id, 1, 'u', 'v2', now() - interval '6 days', 1 from webhook_message`,
  )
  await pruneMessages(pool, 30, 1_000)
  await pruneAttempts(pool, 30, 1_000)
  await endTerms({ pool, clock: Date.now })
  const owners = async (table: string) =>
    (
      await pool.query(`select distinct notification_id as id from ${table} where notification_id = any($1::uuid[])`, [ids])
    ).rows.map(({ id }) => id)
  expect(await owners('webhook_message')).toEqual([ids[1]])
  expect(await owners('carrier_reference')).toEqual([ids[1]])
  const { rows } = await pool.query(
    'select m.notification_id as id from webhook_attempt a left join webhook_message m on m.id = a.message_id',
  )
  expect(rows.map(({ id }) => id)).toEqual(expect.arrayContaining([ids[1]]))
  expect(rows.every(({ id }) => id === ids[1])).toBe(true)
})

test('with the term of all personal data go messages to webhooks and references too, where theirs would be longer', async () => {
  const settings = { 'retention.webhooks': 90, 'retention.events': 120 }
  const accounts = [await createAccount(pool, { settings: { ...settings, 'retention.events': 40 } })]
  accounts.push(await createAccount(pool, { settings }))
  const of = async ({ id: account }: TestAccount) => {
    const { rows } = await pool.query(
      `select (select count(*)::int from webhook_message m join webhook_endpoint w on w.id = m.endpoint_id where w.account_id = $1) as messages,
         (select count(*)::int from webhook_attempt t join webhook_endpoint w on w.id = t.endpoint_id where w.account_id = $1) as attempts,
         array(select r.channel from carrier_reference r join notification n on n.id = r.notification_id
           where n.account_id = $1 and r.carrier = 'whole' order by 1) as references`,
      [account],
    )
    return rows[0]
  }
  for (const one of accounts) {
    await createWebhook(gateway.url, one.token, { url: 'https://sender.example/hook' })
    const { id } = await sendNotification(gateway, pool, one)
    await pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
       values ('whole', $2, $1, 'email', 1, 1, 1, now() - interval '41 days'),
         ('whole', 'letter ' || $2, $1, 'letter', 1, 1, 1, now() - interval '110 days'),
         ('whole', 'old letter ' || $2, $1, 'letter', 1, 1, 1, now() - interval '130 days')`,
      [id, id],
    )
  }
  await pool.query("update webhook_message set state = 'done', created_at = now() - interval '41 days'")
  await pool.query(
    `insert into webhook_attempt (endpoint_id, message_id, attempt, url, payload_version, at, duration_ms)
     select endpoint_id, id, 1, 'u', 'v2', created_at, 1 from webhook_message`,
  )
  const before = await of(accounts[1]!)
  expect(before.messages).toBeGreaterThan(0)
  await pruneMessages(pool, 30, 1_000)
  await pruneAttempts(pool, 30, 1_000)
  await endTerms({ pool, clock: Date.now })
  expect(await of(accounts[0]!)).toEqual({ messages: 0, attempts: 0, references: [] })
  expect(await of(accounts[1]!)).toEqual({ ...before, references: ['email', 'letter'] })
})

test('references stay with a notification under legal hold, and while a report may settle its delivery', async () => {
  const account = await createAccount(pool, { settings: { 'retention.references': 7, 'retention.events': 40 } })
  const ids = [await sendTo(account), await sendTo(account), await sendTo(account)].map(({ id }) => id)
  const [held, unresolved, plain] = ids as [string, string, string]
  for (const id of ids)
    await pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
       values ('stays', $2, $1, 'email', 1, 1, 1, now() - interval '41 days')`,
      [id, id],
    )
  await pool.query("update delivery set state = 'done' where notification_id = any($1)", [[held, plain]])
  await pool.query("update delivery set state = 'unresolved' where notification_id = $1", [unresolved])
  await transaction(pool, db => placeLegalHold(db, { notification: held, reason: 'processo', by: 'test' }))
  await endTerms({ pool, clock: Date.now })
  const { rows } = await pool.query("select notification_id as id from carrier_reference where carrier = 'stays' order by 1")
  expect(rows.map(({ id }) => id)).toEqual([held, unresolved].sort())
})

test('what lost its content or its attachments is never sent again, whoever puts it back into the queue', async () => {
  const account = await createAccount(pool, { settings: { 'retention.attachments': 10 } })
  const { id } = await sendTo(account)
  await endTerms({ pool, clock: inDays(11) })
  await pool.query("update delivery set state = 'done' where state = 'queued'")
  await pool.query("update delivery set state = 'queued', due_at = now() where notification_id = $1", [id])
  const carrier = new ScriptedCarrier()
  const worker = startTestWorker(pool, [{ carrier }])
  const failure = async () =>
    (await pool.query('select failure_detail as detail from delivery where notification_id = $1', [id])).rows[0].detail
  await expect.poll(failure).toContain('apagadas no fim do prazo')
  await worker.stop()
  expect(carrier.got).toEqual([])
})

test.each([0, 1])('data that cannot be erased keep those of no other kind and of no other account (%i)', async place => {
  const settings = { 'retention.content': 10, 'retention.visits': 10 }
  const accounts = [await createAccount(pool, { settings }), await createAccount(pool, { settings })]
  const ids = [(await sendTo(accounts[0]!)).id, (await sendTo(accounts[1]!)).id]
  const [bad, good] = [ids[place]!, ids[1 - place]!]
  await database.asOwner(`alter table notification add constraint kept check (id <> '${bad}' or subject is not null) not valid`)
  const end = () => expect(endTerms({ pool, clock: inDays(11) })).rejects.toThrow('kept')
  await end()
  expect(await left(good)).not.toContain('content')
  // The transaction that failed may hold the rows for another moment.
  await expect.poll(() => end().then(() => left(bad))).not.toContain('visits')
  expect(await left(bad)).toContain('content')
  await database.asOwner('alter table notification drop constraint kept')
})

test('the references of all accounts are read once for the term of an account: hours without any are passed over, and a run goes on where the last one ended', async () => {
  await pool.query('delete from carrier_reference')
  for (const days of [60, 40, 20])
    await pool.query(
      `insert into carrier_reference (carrier, reference, notification_id, channel, ordinal, part, parts, created_at)
       values ('hours', $1, gen_random_uuid(), 'sms', 1, 1, 1, now() - $2 * interval '1 day')`,
      [String(days), days],
    )
  const account = await createAccount(pool, { settings: { 'retention.references': 7 } })
  const spans: Date[] = []
  const query = pool.query
  pool.query = ((asked: { text?: string; values?: unknown[] }, ...more: unknown[]) => {
    if (asked.text?.startsWith('delete from carrier_reference') && asked.values![0] === account.id)
      spans.push(asked.values![1] as Date)
    return (query as (...args: unknown[]) => unknown).call(pool, asked, ...more)
  }) as typeof pool.query
  try {
    await endTerms({ pool, clock: Date.now })
    const daysAgo = () => spans.map(from => Math.round((Date.now() - from.getTime()) / DAY_MS))
    expect(daysAgo()).toEqual([60, 40, 20, 7])
    spans.length = 0
    await endTerms({ pool, clock: Date.now })
    expect(daysAgo()).toEqual([7])
  } finally {
    pool.query = query
  }
})

test('a turn that lies ahead of every plan, because the clock stepped back, is taken', async () => {
  expect(await takeChoreTurn(pool, 'stepped', 60_000)).toBe(true)
  await pool.query("update chore_turn set due_at = now() + interval '5 years' where chore = 'stepped'")
  expect(await takeChoreTurn(pool, 'stepped', 60_000)).toBe(true)
  expect(await takeChoreTurn(pool, 'stepped', 60_000)).toBe(false)
})

test('one node does a chore for all, until it is due again', async () => {
  let runs = 0
  const node = () => inTurns(pool, [{ name: 'a test', everyMs: 60_000, oneNode: true, run: async () => void runs++ }])[0]!
  await Promise.all([node().run(), node().run(), node().run()])
  expect(runs).toBe(1)
  await pool.query("update chore_turn set due_at = now() - interval '1 second' where chore = 'a test'")
  await Promise.all([node().run(), node().run()])
  expect(runs).toBe(2)
})

test('a shorter term that is set later counts for what is already there', async () => {
  const account = await createAccount(pool, { name: 'later' })
  const { id } = await sendTo(account)
  await endTerms({ pool, clock: inDays(60) })
  expect(await left(id)).toContain('content')
  await updateSettings(pool, account.id, { 'retention.content': 50 })
  await endTerms({ pool, clock: inDays(60) })
  expect(await left(id)).not.toContain('content')
})
