import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { s3ForFile } from '../support/programs/s3.js'

/** Calls and letters of a whole gateway that keeps its files in a service that speaks S3. */
const s3 = await s3ForFile()
let stack: Stack
let token: string

beforeAll(async () => {
  stack = await startStack(undefined, { FILES_URL: s3.url('balde') })
  await createDemo(stack.database.pool)
  token = (await demoToken(stack.database.pool, testKeys))!
})

afterAll(() => stack.close())

const ask = (path: string) => request(`${stack.gateway.url}${path}`, { token })
const payload = { nome: 'Maria', contrato: '4711', vencimento: '30/08/2026' }
const address = { logradouro: 'Rua das Flores', numero: '100', cidade: 'São Paulo', uf: 'SP', cep: '01000-001' }
const call = { voz: { number: '11900000001', template: 'ligacao-lembrete', payload } }
const letter = { carta: { template: 'notificacao-extrajudicial', modelo: 'registrada', variables: { ...payload, ...address } } }

async function sendBy(part: object): Promise<string> {
  const { status, body } = await send(stack.gateway.url, token, { ...validSend, to: undefined, ...part })
  expect(status).toBe(200)
  return (body as { idEmail: string }).idEmail
}

const objectsOf = async (table: 'letter' | 'recording', id: string): Promise<string[]> =>
  (
    await stack.database.pool.query(
      `select b.object from ${table} t join blob b on b.sha256 = t.sha256 where t.notification_id = $1`,
      [id],
    )
  ).rows.map(({ object }) => object)

/** What the recording of a call and the PDF of a letter are outside. */
async function stored(table: 'letter' | 'recording', id: string): Promise<Buffer> {
  await expect.poll(() => objectsOf(table, id)).toEqual([expect.stringMatching(/^[0-9a-f]{32}\//)])
  return s3.objects.get(`/balde/${(await objectsOf(table, id))[0]}`)!.body
}

test('a recording that cannot be stored is fetched again until it is', async () => {
  s3.failWith = 503
  s3.asked.length = 0
  const id = await sendBy(call)
  await expect.poll(() => s3.asked.filter(asked => asked.startsWith('PUT')).length).toBe(1)
  const state = async () =>
    (await stack.database.pool.query('select state from recording where notification_id = $1', [id])).rows.map(row => row.state)
  expect(await state()).toEqual(['wanted'])
  s3.failWith = null
  await stack.database.pool.query('update recording set due_at = now()')
  await expect.poll(state).toEqual(['kept'])
  expect((await stored('recording', id)).length).toBeGreaterThan(0)
})

test('a recording and a letter are outside, and their evidence is made from there', async () => {
  const id = await sendBy({ ...call, ...letter })
  const [sound, pdf] = [await stored('recording', id), await stored('letter', id)]
  expect([sound.subarray(0, 4).toString(), pdf.subarray(0, 5).toString()]).toEqual(['RIFF', '%PDF-'])
  const linkOf = async () => ((await ask(`/gw/voz/${id}`)).body as { linkCall?: string }).linkCall
  await expect.poll(linkOf).toMatch(/^http/)
  expect(Buffer.from(await (await fetch((await linkOf())!)).arrayBuffer()).equals(sound)).toBe(true)
  const bundle = await ask(`/gw/evidence/${id}`)
  expect(bundle.status).toBe(200)
  expect(Buffer.from(bundle.body as string, 'latin1').includes(sound)).toBe(true)
  s3.failWith = 503
  expect(await ask(`/gw/evidence/${id}`)).toMatchObject({
    status: 503,
    body: { message: expect.stringContaining('guardados não responde') },
  })
  s3.failWith = null
})

test('while the place is away a letter is not sent and costs no attempt; when it is back, it is printed once', async () => {
  s3.failWith = 503
  s3.asked.length = 0
  const id = await sendBy(letter)
  const puts = () => s3.asked.filter(asked => asked.startsWith('PUT')).length
  // Put back for a while: a letter is not typeset again at every poll.
  const waiting = async () =>
    (
      await stack.database.pool.query(
        "select attempt, due_at > now() + interval '10 seconds' as later from delivery where notification_id = $1 and state = 'queued'",
        [id],
      )
    ).rows
  for (const count of [1, 2]) {
    await expect.poll(puts).toBe(count)
    await expect.poll(waiting).toEqual([{ attempt: 0, later: true }])
    expect(await objectsOf('letter', id)).toEqual([])
    if (count === 2) s3.failWith = null
    await stack.database.pool.query('update delivery set due_at = now() where notification_id = $1', [id])
  }
  const sent = async () =>
    (
      await stack.database.pool.query(
        `select d.attempt, (select count(*) from event e where e.notification_id = d.notification_id and e.data ? 'attempt') as told
         from delivery d where d.notification_id = $1 and d.sent_at is not null`,
        [id],
      )
    ).rows
  await expect.poll(sent).toEqual([{ attempt: 1, told: 1 }])
  expect(await objectsOf('letter', id)).toHaveLength(1)
})
