import { expect, test } from 'vitest'
import { pauseBecause } from '../../../src/store/bulk/batches.js'
import { bulkWorkForTest } from '../../support/gateway/bulk.js'
import { type ConsoleClient, consoleClient, ownPage } from '../../support/gateway/console.js'
import { createAccount, gatewayForFile } from '../../support/gateway/gateway.js'

const settings = { 'bulk.perMinute': 10_000_000 }
const { database, gateway, account } = await gatewayForFile({ account: { settings } })
const { pool } = database
const { url } = gateway
const other = await createAccount(pool, { settings })
const clients = {
  operator: await consoleClient(pool, url, { email: 'operadora@example.com' }),
  sender: await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id }),
  stranger: await consoleClient(pool, url, { email: 'outra@example.com', role: 'sender', account: other.id }),
  auditor: await consoleClient(pool, url, { email: 'auditora@example.com', role: 'auditor' }),
}

const upload = async ({ cookie }: ConsoleClient, name: string, text: string, to = account.id) =>
  fetch(`${url}/console/api/bulk?${new URLSearchParams({ account: to, name })}`, {
    method: 'POST',
    headers: { ...ownPage(url), cookie, 'content-type': 'application/octet-stream' },
    body: text,
  })

async function settle(): Promise<void> {
  const { check, send } = await bulkWorkForTest(pool)
  await check()
  await send()
}

async function revisionOf(id: string): Promise<{ revision: string }> {
  const { revision } = (await clients.sender.get(`/bulk/${id}`)).body as { revision: string }
  return { revision }
}

const file = 'Nome;E-mail;Celular\nAna;ana@example.com;11987654321\nBia;errado;\n'

test('a sender uploads to its account alone, and an auditor to none', async () => {
  expect((await upload(clients.sender, 'a', file)).status).toBe(200)
  expect((await upload(clients.stranger, 'a', file)).status).toBe(404)
  expect((await upload(clients.auditor, 'a', file)).status).toBe(403)
})

test('a batch is seen by those who may see its account; others get nothing and change nothing', async () => {
  const { id } = (await (await upload(clients.sender, 'b', file)).json()) as { id: string }
  for (const client of [clients.operator, clients.sender, clients.auditor]) {
    expect((await client.get(`/bulk/${id}`)).body).toMatchObject({ id, name: 'b', accountName: account.id })
    const { rows } = (await client.get('/bulk')).body as { rows: { id: string }[] }
    expect(rows.map(row => row.id)).toContain(id)
  }
  expect((await clients.stranger.get(`/bulk/${id}`)).status).toBe(404)
  expect((await clients.stranger.get('/bulk')).body).toEqual({ rows: [], cursor: null })
  for (const act of ['start', 'pause', 'resume', 'cancel']) {
    expect((await clients.stranger.post(`/bulk/${id}/${act}`, { revision: '' })).status).toBe(404)
    expect((await clients.auditor.post(`/bulk/${id}/${act}`, { revision: '' })).status).toBe(403)
  }
  const body = { mapping: {}, base: {}, channels: [] }
  expect((await clients.stranger.post(`/bulk/${id}/check`, body)).status).toBe(404)
  for (const name of ['rejects', 'result']) expect((await clients.stranger.get(`/bulk/${id}/${name}.csv`)).status).toBe(404)
})

test('columns show samples and meanings; the check drops the channels that nobody chose; acts are in the log', async () => {
  const { id } = (await (await upload(clients.sender, 'c', file)).json()) as { id: string }
  const { columns, fields } = (await clients.sender.get(`/bulk/${id}`)).body as {
    columns: { name: string; paths: string[]; sample: string[] }[]
    fields: { path: string; channel: string | null }[]
  }
  expect(columns).toEqual([
    { name: 'Nome', paths: ['nameTo'], named: ['nameTo'], sample: ['Ana', 'Bia'] },
    { name: 'E-mail', paths: ['to'], named: ['to'], sample: ['ana@example.com', 'errado'] },
    {
      name: 'Celular',
      paths: ['sms.number'],
      named: ['sms.number', 'whatsapp.number', 'voz.number'],
      sample: ['11987654321'],
    },
  ])
  expect(fields).toContainEqual({ path: 'sms.number', pt: 'Celular', en: 'Mobile number', channel: 'sms' })
  const base = { subject: 'Aviso', content: '<p>Olá {{ nome }}</p>' }
  const mapping = Object.fromEntries(columns.map(({ name, paths }) => [name, paths]))
  expect((await clients.sender.post(`/bulk/${id}/check`, { mapping, base, channels: ['email'] })).status).toBe(200)
  await settle()
  expect((await clients.sender.get(`/bulk/${id}`)).body).toMatchObject({
    state: 'checked',
    good: 1,
    rejected: 1,
    columns: [{}, {}, { paths: [] }],
    errors: [{ line: 3, column: 'E-mail' }],
  })
  await clients.sender.post(`/bulk/${id}/start`, await revisionOf(id))
  await settle()
  expect((await clients.sender.get(`/bulk/${id}`)).body).toMatchObject({ state: 'done', accepted: 1 })
  const { rows } = await pool.query('select actor, action from audit where subject = $1 order by id', [id])
  expect(rows.map(({ action }) => action)).toEqual(['upload batch', 'check batch', 'start batch'])
  expect(rows[0].actor).toBe('operator:remetente@example.com')
  const { rows: events } = await pool.query(
    `select data ->> 'token' as token from event where notification_id = (select notification_id from bulk_line where batch_id = $1 and line = 2)
     and type = 'accepted'`,
    [id],
  )
  expect(events[0].token).toMatch(/^console:/)
})

test('a batch that somebody checked again meanwhile is not started by a person who saw it before', async () => {
  const { id } = (await (await upload(clients.sender, 'd', file)).json()) as { id: string }
  const mapping = { Nome: ['nameTo'], 'E-mail': ['to'] }
  const check = async (client: ConsoleClient, subject: string): Promise<{ revision: string }> => {
    const body = { mapping, base: { subject, content: '<p>Olá</p>' }, channels: ['email'] }
    expect((await client.post(`/bulk/${id}/check`, body)).status).toBe(200)
    await settle()
    return revisionOf(id)
  }
  const seen = await check(clients.sender, 'Aviso')
  expect(await check(clients.operator, 'Aviso')).toEqual(seen)
  const other = await check(clients.operator, 'Outro aviso')
  const refused = await clients.sender.post(`/bulk/${id}/start`, seen)
  expect(refused).toMatchObject({ status: 409, body: { message: expect.stringContaining('O lote foi conferido de novo') } })
  await settle()
  expect((await clients.sender.get(`/bulk/${id}`)).body).toMatchObject({ state: 'checked', accepted: 0 })
  expect((await clients.sender.post(`/bulk/${id}/start`)).status).toBe(400)
  // Whoever got no answer may repeat it.
  for (let times = 0; times < 2; times++) expect((await clients.sender.post(`/bulk/${id}/start`, other)).status).toBe(200)
  await settle()
  expect((await clients.sender.get(`/bulk/${id}`)).body).toMatchObject({ state: 'done', accepted: 1 })
})

test('a batch that paused by itself shows why, in the list too', async () => {
  const { id } = (await (await upload(clients.sender, 'e', file)).json()) as { id: string }
  await clients.sender.post(`/bulk/${id}/check`, {
    mapping: { Nome: ['nameTo'], 'E-mail': ['to'] },
    base: { subject: 's', content: '<p>x</p>' },
    channels: ['email'],
  })
  await (await bulkWorkForTest(pool)).check()
  await clients.sender.post(`/bulk/${id}/start`, await revisionOf(id))
  await pauseBecause(pool, id, 'cap')
  expect((await clients.sender.get(`/bulk/${id}`)).body).toMatchObject({ state: 'paused', pausedBecause: 'cap' })
  const { rows } = (await clients.sender.get('/bulk')).body as { rows: object[] }
  expect(rows).toContainEqual(expect.objectContaining({ id, pausedBecause: 'cap' }))
  await clients.sender.post(`/bulk/${id}/resume`)
  expect((await clients.sender.get(`/bulk/${id}`)).body).toMatchObject({ state: 'sending', pausedBecause: null })
})

test('what is no file is refused', async () => {
  expect((await clients.sender.post(`/bulk?account=${account.id}&name=x`, {})).status).toBe(400)
})
