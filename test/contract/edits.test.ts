import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptStore } from '../../src/app/accept-store.js'
import { StoreUnavailable } from '../../src/domain/errors.js'
import { updateSequence, updateSettings } from '../../src/store/accounts/accounts.js'
import { openPool } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, type Gateway, gatewayForTest, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { errorBody, request, send, validSend } from '../support/gateway/requests.js'

/** An edit counts for the next request, on every node, whatever the nodes remembered of the account. */
let database: TestDatabase
let nodes: Gateway[]

beforeAll(async () => {
  database = await createDatabase()
  nodes = [await startGateway(database.pool), await startGateway(database.pool)]
})

afterAll(async () => {
  await Promise.all(nodes.map(node => node.close()))
  await database.drop()
})

const body = { ...validSend, carta: {} }
const waits = (minutes: number) => [
  { canal: 'email', esperaMinutos: 0, condicao: 'sempre' },
  { canal: 'carta', esperaMinutos: minutes, condicao: 'nao_lido' },
]

async function accept(url: string, { token }: TestAccount, given: object = body): Promise<string> {
  const answer = await send(url, token, given)
  expect(answer).toMatchObject({ status: 200 })
  return (answer.body as { idEmail: string }).idEmail
}

async function letterOf(id: string): Promise<{ state: string; minutes: number }> {
  const { rows } = await database.pool.query(
    `select state, (extract(epoch from due_at - min(due_at) over ()) / 60)::float as minutes, channel
     from delivery where notification_id = $1 order by channel`,
    [id],
  )
  const { state, minutes } = rows.find(({ channel }) => channel === 'letter')
  return { state, minutes }
}

/** Every node has read the account. */
const remember = (account: TestAccount) => Promise.all(nodes.map(({ url }) => accept(url, account)))

describe('the sequence', () => {
  test('that was put counts for the next send on every node', async () => {
    const account = await createAccount(database.pool)
    await remember(account)
    for (let round = 1; round <= 7; round++) {
      const [editor, other] = round % 2 === 0 ? nodes : [...nodes].reverse()
      const edit = { method: 'PUT', token: account.token, body: { etapas: waits(round) } }
      expect(await request(`${editor!.url}/gw/sequence`, edit)).toMatchObject({ status: 200 })
      const ids = await Promise.all([accept(other!.url, account), accept(editor!.url, account)])
      for (const id of ids) expect(await letterOf(id)).toEqual({ state: 'waiting', minutes: round })
    }
  })

  test('that was taken away too, and the plan in the first event is the one that counted', async () => {
    const account = await createAccount(database.pool)
    await updateSequence(database.pool, account.id, [
      { channel: 'email', waitMinutes: 0, condition: 'always' },
      { channel: 'letter', waitMinutes: 5, condition: 'not read' },
    ])
    await remember(account)
    await updateSequence(database.pool, account.id, null)
    const id = await accept(nodes[1]!.url, account)
    expect(await letterOf(id)).toEqual({ state: 'queued', minutes: 0 })
    const { rows } = await database.pool.query('select data from event where notification_id = $1 and seq = 1', [id])
    expect(rows[0].data.deliveries).toMatchObject([{ state: 'queued' }, { state: 'queued' }])
  })

  test('an edit does not use up the idempotency key of the send that meets it', async () => {
    const account = await createAccount(database.pool)
    await remember(account)
    await updateSettings(database.pool, account.id, { 'link.days': 9 })
    const headers = { 'idempotency-key': 'chave-da-edicao' }
    const first = await send(nodes[0]!.url, account.token, body, headers)
    const again = await send(nodes[1]!.url, account.token, body, headers)
    expect([first.status, again.status, again.body]).toEqual([200, 200, first.body])
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([null, 'true'])
  })

  test('a send that meets an edit and whose answer is lost is written once', async () => {
    const store = acceptStore(database.pool)
    const account = await createAccount(database.pool)
    let tries = 0
    let late: Promise<unknown> = Promise.resolve()
    const node = await gatewayForTest(
      database.pool,
      {},
      {
        store: {
          ...store,
          // The first write is committed, but not seen yet: as when it waits for a standby.
          findWritten: async () => new Set(),
          insertAcceptances: async group => {
            if (++tries > 1) return store.insertAcceptances(group)
            late = store.insertAcceptances(group)
            await late
            await updateSettings(database.pool, account.id, { 'link.days': 8 })
            throw new StoreUnavailable(new Error('connection reset'), { maybeCommitted: true })
          },
        },
        acceptLimits: { maxGroup: 1, parallelGroups: 1, maxWaiting: 10, retryForMs: 2_000 },
      },
    )
    expect((await send(node.url, account.token, body)).status).toBe(504)
    const { rows } = await database.pool.query('select count(*)::int from notification where account_id = $1', [account.id])
    expect([tries > 1, rows]).toEqual([true, [{ count: 1 }]])
  })
})

test('a send costs one statement, and one more round only when its account was edited', async () => {
  const pool = openPool({ url: database.url, size: 2, onError: () => {} })
  const counted = new Map<string, number>()
  pool.on('connect', client => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    client.query = ((...args: unknown[]) => {
      const name = (args[0] as { name?: string }).name ?? String((args[0] as { text?: string }).text ?? args[0])
      counted.set(name, (counted.get(name) ?? 0) + 1)
      return query(...args)
    }) as typeof client.query
  })
  const account = await createAccount(database.pool)
  const node = await startGateway(pool)
  try {
    await accept(node.url, account)
    counted.clear()
    for (let sends = 0; sends < 30; sends++) await accept(node.url, account)
    // Polls and leases belong to time, not to sends.
    const own = () =>
      [...counted].filter(([name]) => !/^(read-revision|lease-budget|signal-due|standby-lost)$|synchronous_standby/i.test(name))
    expect(own()).toEqual([['accept', 30]])
    counted.clear()
    await updateSettings(database.pool, account.id, { 'link.days': 7 })
    for (let sends = 0; sends < 5; sends++) await accept(node.url, account)
    const { accept: writes, 'find-grant': reads } = Object.fromEntries(own())
    expect([writes! <= 6, reads]).toEqual([true, 1])
  } finally {
    await node.close()
    await pool.end()
  }
})

describe('settings and addresses', () => {
  const asked = { ...validSend, validation: { question: 'Qual?', reply: 'Esta' } }

  test('a permission that was taken away is missing at the next send on every node', async () => {
    const account = await createAccount(database.pool, { settings: { validation: true } })
    await remember(account)
    await updateSettings(database.pool, account.id, { validation: false })
    for (const { url } of nodes)
      expect(await send(url, account.token, asked)).toMatchObject({
        status: 403,
        body: errorBody(403, expect.stringContaining('validation'), 'Forbidden'),
      })
  })

  test('what a command changed counts on every node when the command ends', async () => {
    const account = await createAccount(database.pool, { name: 'editada', ranges: [] })
    await remember(account)
    const run = async (...args: string[]) => expect(await runCommand(args, database.url)).toMatchObject({ status: 0 })
    await run('account', 'set', '--account', 'editada', 'validation=true', 'limit.registered=4321')
    for (const { url } of nodes) expect(await send(url, account.token, asked)).toMatchObject({ status: 200 })
    await run('address', 'add', '--account', 'editada', '127.0.0.0/8')
    for (const { url } of nodes) {
      const { headers } = await send(url, account.token, validSend)
      expect(headers.get('ratelimit-policy')).toBe('"registrado";q=4321;w=60')
    }
  })
})
