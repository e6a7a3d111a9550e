import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { acceptStore } from '../../../src/app/accept-store.js'
import { readConfig } from '../../../src/app/config.js'
import { type BulkWorkerParts, bulkWork } from '../../../src/app/worker/bulk.js'
import { Refusal } from '../../../src/domain/errors.js'
import type { AcceptStore } from '../../../src/engine/accept/accept.js'
import { holdCopy } from '../../../src/engine/unknown/restored.js'
import { setPrice } from '../../../src/store/accounts/costs.js'
import { deleteUnstarted, deleteUpload } from '../../../src/store/bulk/batches.js'
import { listRefused, readLinesAfter } from '../../../src/store/bulk/lines.js'
import { createAccount, gatewayForFile, issueToken, type TestAccount, testKeys } from '../../support/gateway/gateway.js'
import { request } from '../../support/gateway/requests.js'
import { spreadsheet } from '../../support/programs/spreadsheet.js'

const { database, gateway } = await gatewayForFile({ env: { SIMULATOR: 'on', SIMULATOR_URL: 'http://127.0.0.1:9' } })
const { pool } = database
const { url } = gateway

let account: TestAccount
beforeAll(async () => {
  account = await createAccount(pool, { settings: { 'bulk.perMinute': 10_000_000 } })
})

const onError = (error: unknown): void => {
  throw error
}

const work = (parts: Partial<BulkWorkerParts> = {}) =>
  bulkWork({
    config: readConfig({ SIMULATOR: 'on' }),
    keys: testKeys,
    pool,
    clock: Date.now,
    previews: new Map(),
    onError,
    ...parts,
  })

/** What the worker does, until nothing is left to do. */
async function settle(parts: Partial<BulkWorkerParts> = {}): Promise<void> {
  const { check, send } = await work(parts)
  await check()
  await send()
}

const base = { subject: 'Aviso', content: '<p>Olá {{ Nome }}</p>' }

interface Wire {
  id: string
  situacao: string
  total: number
  boas: number
  rejeitadas: number
  aceitas: number
  falhas: number
  repetido: boolean
  motivo: string | null
  erros: { linha: number; coluna: string | null; erro: string }[]
  colunas: { coluna: string; campos: string[] }[]
}

async function upload(
  body: string | Uint8Array,
  { token = account.token, type = 'text/csv', given = base as object | null, ...query }: Record<string, unknown> = {},
): Promise<{ status: number; data: Wire; message: string }> {
  const search = new URLSearchParams({ name: `lote ${Math.random()}`, ...(query as Record<string, string>) })
  if (given !== null) search.set('base', JSON.stringify(given))
  const answer = await fetch(`${url}/gw/bulk?${search}`, {
    method: 'POST',
    headers: { authorization: token as string, 'content-type': type as string },
    body: body as string,
  })
  const { data, message } = (await answer.json()) as { data: Wire; message: string }
  return { status: answer.status, data, message }
}

const call = async (
  path: string,
  { method = 'GET', token = account.token, body }: { method?: string; token?: string; body?: object } = {},
) => {
  const answer = await request(`${url}/gw/bulk${path}`, { method, token, ...(body ? { body } : {}) })
  return { status: answer.status, ...(answer.body as { data: Wire; message: string }) }
}
const act = (id: string, name: string, options = {}) => call(`/${id}/${name}`, { method: 'POST', ...options })
const csv = async (path: string, token = account.token) =>
  (await (await fetch(`${url}/gw/bulk${path}`, { headers: { authorization: token } })).text()).replace(/^\ufeff/, '')

const people = (count: number, from = 0): string =>
  `Nome;E-mail\n${Array.from({ length: count }, (_, index) => `Pessoa ${from + index};p${from + index}@example.com\n`).join('')}`

const sentOf = async (batch: string): Promise<{ line: number; notification_id: string }[]> =>
  (
    await pool.query(
      'select line, notification_id from bulk_line where batch_id = $1 and notification_id is not null order by line',
      [batch],
    )
  ).rows

const notifications = async (scope = account.id): Promise<number> =>
  Number((await pool.query('select count(*) from notification where account_id = $1', [scope])).rows[0].count)

describe('the dry run', () => {
  test('tells each error with its line, its column as the file calls it, and the sentence of the refusal', async () => {
    const file = [
      'Nome do destinatário;E-MAIL;Celular',
      'Ana;ana@example.com;(11) 98765-4321',
      'Bia;bia@;',
      ';caio@example.com;',
      'Davi;davi@example.com;1198',
      'Eva;;',
      'Flora;flora@example.com;;sobra',
    ].join('\n')
    const { status, data } = await upload(file, { given: { subject: 'Aviso', content: '<p>Olá</p>' } })
    expect([status, data.situacao, data.total]).toEqual([201, 'checking', 6])
    await settle()
    const { data: checked } = await call(`/${data.id}`)
    expect(checked).toMatchObject({ situacao: 'checked', boas: 1, rejeitadas: 5, aceitas: 0 })
    expect(checked.erros.map(({ linha, coluna }) => [linha, coluna])).toEqual([
      [3, 'E-MAIL'],
      [4, 'Nome do destinatário'],
      [5, 'Celular'],
      [6, null],
      [7, null],
    ])
    expect(checked.erros[0]!.erro).toBe(
      'O campo to não é um endereço de e-mail válido. Informe um único endereço, como nome@dominio.com.br.',
    )
    expect(checked.erros[4]!.erro).toContain('mais valores (4) do que o cabeçalho tem colunas (3)')
    expect(await notifications()).toBe(0)
    const rejects = (await csv(`/${data.id}/rejects`)).split('\r\n')
    expect(rejects[0]).toBe('"Nome do destinatário";"E-MAIL";"Celular";"linha";"coluna";"erro"')
    expect(rejects[1]).toMatch(/^"Bia";"bia@";"";"3";"E-MAIL";"O campo to não é/)
    expect(rejects).toHaveLength(7)
  })

  test('is repeated with other columns and another message until the batch starts', async () => {
    const { data } = await upload('quem;onde\nAna;ana@example.com\n', { given: {} })
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ boas: 0, rejeitadas: 1 })
    expect(await act(data.id, 'start')).toMatchObject({ status: 409, message: expect.stringContaining('Nenhuma linha') })
    const body = { mapping: { quem: 'nameTo', onde: 'to' }, base: { subject: 'Aviso', content: '<p>Oi</p>' } }
    expect((await act(data.id, 'check', { body })).data).toMatchObject({ situacao: 'checking', boas: 0, rejeitadas: 0 })
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'checked', boas: 1, rejeitadas: 0, erros: [] })
    await act(data.id, 'start')
    expect(await act(data.id, 'check', { body })).toMatchObject({ status: 409 })
  })

  test('finds templates that do not exist, and members that only the account may not use', async () => {
    const { data } = await upload('nome;email;pergunta;resposta\nAna;ana@example.com;;\nBia;bia@example.com;Cor?;azul\n', {
      given: { subject: 's', content: '<p>x</p>' },
    })
    await settle()
    expect((await call(`/${data.id}`)).data.erros).toEqual([
      { linha: 3, coluna: null, erro: expect.stringContaining('não tem permissão para usar validation') },
    ])
    const other = await upload('nome;email\nAna;ana@example.com\n', { given: { ...base, template: 'nenhum' } })
    await settle()
    expect((await call(`/${other.data.id}`)).data.erros).toEqual([
      { linha: 2, coluna: null, erro: expect.stringContaining('Template não encontrado') },
    ])
  })

  test.each([
    ['', 'nenhuma linha abaixo'],
    ['nome;email\n', 'nenhuma linha abaixo'],
    ['nome;Nome\na;b', 'aparece mais de uma vez'],
    ['%PDF\0', 'não pôde ser lido'],
    [`${Array.from({ length: 201 }, (_, place) => `c${place}`).join(';')}\nx`, 'A linha 1 passa do limite de 200 colunas'],
    [`a;b\n1;2\n${'x;'.repeat(201)}\n`, 'A linha 3 passa do limite de 200 colunas'],
  ])('a file that is no table is refused as a whole: %j', async (file, reason) => {
    expect(await upload(file)).toMatchObject({ status: 400, message: expect.stringContaining(reason) })
  })

  test('a file above the account’s limit is refused, and nothing of it stays', async () => {
    const small = await createAccount(pool, { settings: { 'bulk.lines': 3 } })
    expect(await upload(people(4), { token: small.token })).toMatchObject({
      status: 400,
      message: expect.stringContaining('3 linhas'),
    })
    expect((await pool.query('select from bulk_batch where account_id = $1', [small.id])).rowCount).toBe(0)
  })

  test('long lines are stored a few at a time, and never hundreds of them by one statement', async () => {
    const { data } = await upload(`Nome;E-mail\n${`${'x'.repeat(900_000)};a@example.com\n`.repeat(12)}`)
    const { rows } = await pool.query('select count(*)::int as lines from bulk_line where batch_id = $1 group by xmin', [data.id])
    expect(rows.map(({ lines }) => lines).sort()).toEqual([2, 5, 5])
  })

  test('long lines are read a few at a time, and each of them is checked and listed', async () => {
    const { data } = await upload(`Nome;E-mail\n${`${'x'.repeat(900_000)};errado\n`.repeat(20)}`)
    expect(await readLinesAfter(pool, data.id, 0, 500)).toHaveLength(10)
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'checked', rejeitadas: 20 })
    const refused = await listRefused(pool, data.id, 0, 500)
    expect(refused.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    const rejects = (await csv(`/${data.id}/rejects`)).trimEnd().split('\r\n')
    expect(rejects.slice(1).map(row => row.split(';')[2])).toEqual(Array.from({ length: 20 }, (_, index) => `"${index + 2}"`))
  })

  test('a message with an unknown placeholder, a bad mapping or a bad base is refused as a whole', async () => {
    const bad = [
      { given: { ...base, subject: '{{ valor }}' } },
      { mapping: '{"Nome": "apelido"}' },
      { mapping: 'não salvo' },
      { mapping: '{' },
      { given: null, base: '[1]' },
      { name: 'x\ny' },
    ]
    for (const options of bad) expect([400, 404], JSON.stringify(options)).toContain((await upload(people(1), options)).status)
  })

  test('an XLSX is taken as a CSV is', async () => {
    const file = spreadsheet([
      ['Nome', 'E-mail', 'Celular'],
      ['José', 'jose@example.com', { xml: '<c><v>1.1987654321E10</v></c>' }],
    ])
    const { data } = await upload(file, { type: 'application/octet-stream' })
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ boas: 1, rejeitadas: 0 })
    expect(data.colunas[2]).toEqual({ coluna: 'Celular', campos: ['sms.number'] })
  })
})

describe('sending', () => {
  test('nothing goes before the start; then each good line is a notification of its own, by the one acceptance', async () => {
    const { data } = await upload(people(30))
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'checked', aceitas: 0 })
    expect((await act(data.id, 'start')).data).toMatchObject({ situacao: 'sending' })
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', boas: 30, aceitas: 30, falhas: 0 })
    const sent = await sentOf(data.id)
    expect(new Set(sent.map(row => row.notification_id)).size).toBe(30)
    const { rows } = await pool.query('select recipient_name, content from notification where id = $1', [
      sent[4]!.notification_id,
    ])
    expect(rows).toEqual([{ recipient_name: 'Pessoa 4', content: '<p>Olá Pessoa 4</p>' }])
    const { rows: queued } = await pool.query('select distinct bulk, recipient from delivery where notification_id = $1', [
      sent[4]!.notification_id,
    ])
    expect(queued).toEqual([{ bulk: true, recipient: 'p4@example.com' }])
    // The notification has the line's data from now on.
    expect((await pool.query('select from bulk_line where batch_id = $1 and cells is not null', [data.id])).rowCount).toBe(0)
    const result = (await csv(`/${data.id}/result`)).split('\r\n')
    expect(result[0]).toMatch(/^"linha";"idEmail";"customID";"email";"email desde";"sms"/)
    expect(result[5]).toContain(`"6";"${sent[4]!.notification_id}";"";"Processado";"`)
    expect(result).toHaveLength(32)
  })

  test('start=1 sends the good lines as soon as all are checked', async () => {
    const { data } = await upload(`${people(5)}Zé;errado\n`, { start: '1' })
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', boas: 5, rejeitadas: 1, aceitas: 5 })
  })

  test('the same file under the same name is the same batch, and goes once', async () => {
    const file = people(7)
    const before = await notifications()
    const first = await upload(file, { name: 'mensal', start: '1' })
    await settle()
    const second = await upload(file, { name: 'mensal', start: '1' })
    await settle()
    expect(second.data).toMatchObject({ id: first.data.id, repetido: true, situacao: 'done' })
    expect(await notifications()).toBe(before + 7)
    const changed = await upload(file, { name: 'mensal', given: { ...base, subject: 'Outro' } })
    expect(changed).toMatchObject({ status: 409, message: expect.stringContaining(first.data.id) })
    expect((await upload(file, { name: 'outro mês' })).data.id).not.toBe(first.data.id)
  })

  test('a batch that somebody starts while another upload would replace it stays, and so does an upload that became a batch', async () => {
    const { data } = await upload(people(2), { name: 'começado' })
    await deleteUpload(pool, data.id)
    await settle()
    await call(`/${data.id}/start`, { method: 'POST' })
    await deleteUnstarted(pool, data.id)
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', aceitas: 2 })
  })

  test('two uploads of one file at the same moment are one batch', async () => {
    const file = people(3)
    const both = await Promise.all([upload(file, { name: 'gêmeos' }), upload(file, { name: 'gêmeos' })])
    expect(both[0]!.data.id).toBe(both[1]!.data.id)
  })

  test('a paused batch sends nothing, a resumed one goes on, and a cancelled one never does', async () => {
    const { data } = await upload(people(20))
    await settle()
    await act(data.id, 'start')
    await act(data.id, 'pause')
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'paused', aceitas: 0 })
    await act(data.id, 'resume')
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', aceitas: 20 })
    expect(await act(data.id, 'cancel')).toMatchObject({ status: 409 })
    const other = await upload(people(20, 50))
    await settle()
    await act(other.data.id, 'start')
    await act(other.data.id, 'cancel')
    await settle()
    expect((await call(`/${other.data.id}`)).data).toMatchObject({ situacao: 'cancelled', aceitas: 0 })
    expect(await act(other.data.id, 'resume')).toMatchObject({ status: 409 })
  })

  test('a pause between the choice of lines and their acceptance holds: none is accepted after it', async () => {
    const { data } = await upload(people(10))
    await settle()
    await act(data.id, 'start')
    const store = acceptStore(pool)
    const paused: AcceptStore = {
      ...store,
      async insertAcceptances(group) {
        await act(data.id, 'pause')
        return store.insertAcceptances(group)
      },
    }
    await settle({ store: paused })
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'paused', aceitas: 0, falhas: 0 })
    expect(await sentOf(data.id)).toEqual([])
  })

  test('what the account may no longer send when its turn comes fails with the reason, and the rest goes', async () => {
    const asking = await createAccount(pool, { settings: { validation: true, 'bulk.perMinute': 10_000_000 } })
    const file = 'nome;email;pergunta;resposta\nAna;ana@example.com;Cor?;azul\nBia;bia@example.com;;\n'
    const { data } = await upload(file, { token: asking.token, given: { subject: 's', content: '<p>x</p>' } })
    await settle()
    await pool.query(`update account set settings = settings || '{"validation": false}' where id = $1`, [asking.id])
    await act(data.id, 'start', { token: asking.token })
    await settle()
    const { data: done } = await call(`/${data.id}`, { token: asking.token })
    expect(done).toMatchObject({ situacao: 'done', aceitas: 1, falhas: 1 })
    expect(done.erros[0]).toMatchObject({ linha: 2, erro: expect.stringContaining('validation') })
  })

  test.each([
    ['that passes by itself leaves the line for a later turn', 'keyInProgress', { aceitas: 2, falhas: 0 }],
    ['that is final fails the line', 'nothingToDecide', { aceitas: 1, falhas: 1 }],
  ] as const)('a refusal %s', async (_, code, counts) => {
    const { data } = await upload(people(2), { start: '1' })
    let refusals = 1
    const requireDisk = async (): Promise<void> => {
      if (refusals-- > 0) throw new Refusal(code)
    }
    const turns = async (): Promise<Wire> => {
      await settle({ requireDisk })
      return (await call(`/${data.id}`)).data
    }
    await expect.poll(turns).toMatchObject({ situacao: 'done', ...counts })
  })

  test('a batch that meets the cap of the month pauses with the reason, fails no line, and goes on when somebody resumes it', async () => {
    const capped = await createAccount(pool, { settings: { 'cost.month.cap': 1, 'bulk.perMinute': 10_000_000 } })
    await setPrice(pool, { channel: 'sms', carrier: '', price: 0.3 })
    const file = `Nome;Celular\n${'Ana;11987654321\n'.repeat(10)}`
    const options = { token: capped.token }
    const { data } = await upload(file, {
      ...options,
      given: { ...base, sms: { typeSend: '2', customMessage: 'Oi' } },
      start: '1',
    })
    await settle()
    const { data: paused } = await call(`/${data.id}`, options)
    expect(paused).toMatchObject({ situacao: 'paused', aceitas: 3, falhas: 0, erros: [] })
    expect(paused.motivo).toContain('teto do mês (cost.month.cap)')
    const { lotes } = (await call('', options)).data as unknown as { lotes: object[] }
    expect(lotes).toMatchObject([{ id: data.id, motivo: paused.motivo }])
    // Nobody resumes it: nothing more is asked of the cap.
    await settle()
    expect(await notifications(capped.id)).toBe(3)
    await pool.query(`update account set settings = settings || '{"cost.month.cap": 100}' where id = $1`, [capped.id])
    expect((await act(data.id, 'resume', options)).data).toMatchObject({ situacao: 'sending', motivo: null })
    await settle()
    expect((await call(`/${data.id}`, options)).data).toMatchObject({ situacao: 'done', aceitas: 10, falhas: 0, motivo: null })
    expect(await notifications(capped.id)).toBe(10)
  })

  test('the account’s pace holds: no more lines a minute than it may', async () => {
    const slow = await createAccount(pool, { settings: { 'bulk.perMinute': 1 } })
    const { data } = await upload(people(30), { token: slow.token, start: '1' })
    await settle()
    const { data: going } = await call(`/${data.id}`, { token: slow.token })
    expect(going.situacao).toBe('sending')
    expect(going.aceitas).toBe(1)
  })
})

test('a turn costs the same number of statements, however many lines it has', async () => {
  const statementsFor = async (lines: number): Promise<number> => {
    const { data } = await upload(people(lines))
    await settle()
    await act(data.id, 'start')
    const { send } = await work()
    let count = 0
    const counted = new WeakSet<object>()
    const onAcquire = (client: { query: (...args: unknown[]) => unknown }): void => {
      if (counted.has(client)) return
      counted.add(client)
      const { query } = client
      client.query = (...args) => {
        if (isCounting) count++
        return query.apply(client, args)
      }
    }
    let isCounting = true
    pool.on('acquire', onAcquire as never)
    await send()
    isCounting = false
    pool.off('acquire', onAcquire as never)
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', aceitas: lines })
    return count
  }
  // Both fill the groups of a turn.
  const few = await statementsFor(8)
  expect((await statementsFor(48)) - few).toBeLessThan(5)
})

describe('a crash', () => {
  test.each(['before the write', 'after the write, before its answer'])(
    '%s neither loses a line nor sends it twice',
    async moment => {
      const { data } = await upload(people(40))
      await settle()
      await act(data.id, 'start')
      const store = acceptStore(pool)
      let crashes = 3
      const crashing: AcceptStore = {
        ...store,
        async insertAcceptances(group) {
          if (crashes-- <= 0) return store.insertAcceptances(group)
          if (moment !== 'before the write') await store.insertAcceptances(group.slice(0, 5))
          throw new Error('the process died')
        },
      }
      await settle({ store: crashing }).catch(() => {})
      await settle()
      await settle()
      expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', aceitas: 40, falhas: 0 })
      expect(await countOf(data.id)).toEqual({ lines: 40, notifications: 40 })
    },
  )

  test('inside the transaction leaves neither the notification nor the mark', async () => {
    const { data } = await upload(people(10))
    await settle()
    await act(data.id, 'start')
    const before = await notifications()
    // The last statement of the transaction cannot write.
    await database.asOwner(
      `create function stop_batch() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
    )
    await database.asOwner(
      `create trigger stop_batch before update of accepted on bulk_batch for each row execute function stop_batch()`,
    )
    await settle().catch(() => {})
    expect([await notifications(), (await sentOf(data.id)).length]).toEqual([before, 0])
    await database.asOwner('drop trigger stop_batch on bulk_batch')
    await settle()
    expect(await countOf(data.id)).toEqual({ lines: 10, notifications: 10 })
  })

  test('two workers at once accept each line once', async () => {
    const { data } = await upload(people(300))
    await settle()
    await act(data.id, 'start')
    await Promise.all([settle(), settle(), settle()])
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'done', aceitas: 300, falhas: 0 })
    expect(await countOf(data.id)).toEqual({ lines: 300, notifications: 300 })
  })

  test('a second worker takes other lines than the first, whose lines are not written yet', async () => {
    const { data } = await upload(people(100))
    await settle()
    await act(data.id, 'start')
    const store = acceptStore(pool)
    const groups: number[][] = []
    const first: AcceptStore = {
      ...store,
      async insertAcceptances(group) {
        groups.push(group.map(({ line }) => line!.line))
        // The first one waits in the middle of its turn.
        if (groups.length === 1) await expect.poll(() => groups.length).toBeGreaterThan(1)
        return store.insertAcceptances(group)
      },
    }
    const nodes = [await work({ store: first }), await work({ store: first })]
    await Promise.all(nodes.map(({ send }) => send()))
    expect(groups[0]!.filter(line => groups[1]!.includes(line))).toEqual([])
    await settle()
    expect(await countOf(data.id)).toEqual({ lines: 100, notifications: 100 })
  })

  test('a node that has read lines which another one then accepts sends none of them', async () => {
    const { data } = await upload(people(10))
    await settle()
    await act(data.id, 'start')
    const store = acceptStore(pool)
    let first = true
    const late: AcceptStore = {
      ...store,
      async insertAcceptances(group) {
        if (first) {
          first = false
          await pool.query('update bulk_batch set next_at = now() where id = $1', [data.id])
          await settle()
        }
        return store.insertAcceptances(group)
      },
    }
    await settle({ store: late })
    expect(await countOf(data.id)).toEqual({ lines: 10, notifications: 10 })
  })
})

/** The notifications of the account since the batch was started, whatever the lines say. */
async function countOf(batch: string): Promise<{ lines: number; notifications: number }> {
  const { rows } = await pool.query(
    `select (select count(*)::int from bulk_line where batch_id = $1 and state = 'accepted' and notification_id is not null) as lines,
       (select count(*)::int from notification n join bulk_batch b on b.account_id = n.account_id
        where b.id = $1 and n.accepted_at >= b.started_at) as notifications`,
    [batch],
  )
  return rows[0]
}

describe('a batch belongs to one account in one mode', () => {
  test('others see, change and download nothing of it', async () => {
    const { data } = await upload(people(2))
    const stranger = await createAccount(pool)
    const testing = await issueToken(pool, account.id, { mode: 'test' })
    for (const { token } of [stranger, testing]) {
      for (const path of ['', '/rejects', '/result'])
        expect((await fetch(`${url}/gw/bulk/${data.id}${path}`, { headers: { authorization: token } })).status).toBe(404)
      for (const name of ['start', 'pause', 'resume', 'cancel']) expect((await act(data.id, name, { token })).status).toBe(404)
      expect((await act(data.id, 'check', { token, body: {} })).status).toBe(404)
      expect((await call('', { token })).data).toEqual({ lotes: [], cursor: null })
    }
    expect((await call(`/${data.id}`)).data.situacao).toBe('checking')
  })

  test('a batch of a test token makes test notifications', async () => {
    const testing = await issueToken(pool, account.id, { mode: 'test' })
    const { data } = await upload(people(2), { token: testing.token, start: '1' })
    await settle()
    const [first] = await sentOf(data.id)
    expect((await pool.query('select mode from notification where id = $1', [first!.notification_id])).rows).toEqual([
      { mode: 'test' },
    ])
  })

  test('mappings are saved, listed, used and removed by their own account alone', async () => {
    const body = { mapping: { quem: 'nameTo', onde: 'to' }, base }
    const saved = { ...body, base: { subject: 'Salvo', content: '<p>{{ quem }}</p>' } }
    expect(await call('/mappings/cobrança', { method: 'PUT', body: saved })).toMatchObject({ status: 200 })
    expect((await call('/mappings')).data).toMatchObject([{ nome: 'cobrança', ...saved }])
    const stranger = await createAccount(pool)
    expect((await call('/mappings', { token: stranger.token })).data).toEqual([])
    expect((await call('/mappings/cobrança', { method: 'DELETE', token: stranger.token })).status).toBe(404)
    const { data } = await upload('quem;onde\nAna;ana@example.com\n', { mapping: 'cobrança', given: null })
    await settle()
    expect((await call(`/${data.id}`)).data).toMatchObject({ boas: 1 })
    expect((await call('/mappings/cobrança', { method: 'DELETE' })).status).toBe(200)
    expect((await call('/mappings')).data).toEqual([])
  })

  test('a message that is too large for an upload is too large for another check and for a saved mapping', async () => {
    const { data } = await upload(people(1))
    await settle()
    const body = { base: { ...base, content: 'x'.repeat(262_144) } }
    const refused = { status: 400, message: expect.stringContaining('A mensagem do lote passa do limite') }
    expect(await act(data.id, 'check', { body })).toMatchObject(refused)
    expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'checked', boas: 1 })
    expect(await call('/mappings/grande', { method: 'PUT', body })).toMatchObject(refused)
    expect((await call('/mappings')).data).toEqual([])
  })
})

test('a list of rejects, put right, is sent as the file had it', async () => {
  const { data } = await upload('Nome;E-mail\n=Ana & Cia;errado\n- Bia;bia@\n')
  await settle()
  const rejects = await csv(`/${data.id}/rejects`)
  expect(rejects).toContain(`"'=Ana & Cia";"errado"`)
  const { token, id } = await createAccount(pool, { settings: { 'bulk.perMinute': 10_000_000 } })
  await upload(rejects.replace('"errado"', '"ana@example.com"').replace('"bia@"', '"bia@example.com"'), { token, start: '1' })
  await settle()
  const { rows } = await pool.query('select recipient_name from notification where account_id = $1 order by id', [id])
  expect(rows.map(({ recipient_name }) => recipient_name).sort()).toEqual(['- Bia', '=Ana & Cia'])
})

test('the data of lines go when their time is over; what was sent stays known', async () => {
  const { data } = await upload(`${people(3)}Zé;errado\n`, { start: '1' })
  await settle()
  const { erase } = await work()
  await erase()
  expect(await csv(`/${data.id}/rejects`)).toContain('errado')
  await pool.query(
    `update bulk_batch set created_at = now() - interval '31 days', finished_at = now() - interval '31 days' where id = $1`,
    [data.id],
  )
  await erase()
  expect(await call(`/${data.id}/rejects`)).toMatchObject({ status: 410 })
  expect((await csv(`/${data.id}/result`)).split('\r\n')).toHaveLength(5)
  expect((await pool.query('select from bulk_line where cells is not null and batch_id = $1', [data.id])).rowCount).toBe(0)
})

test('a batch that stays paused beyond its term ends as cancelled, says why, and keeps no data of its lines; one paused lately stays', async () => {
  const { erase, ...rest } = await work()
  const pausedFor = async (name: string, days: number): Promise<string> => {
    const { data } = await upload(people(3), { name, start: '1' })
    await rest.check()
    await act(data.id, 'pause')
    await pool.query(
      `update bulk_batch set created_at = now() - interval '90 days', paused_at = now() - $2 * interval '1 day' where id = $1`,
      [data.id, days],
    )
    return data.id
  }
  const [long, lately] = [await pausedFor('esquecido', 31), await pausedFor('de ontem', 1)]
  const kept = async (id: string): Promise<number | null> =>
    (await pool.query('select from bulk_line where cells is not null and batch_id = $1', [id])).rowCount
  await erase()
  expect((await call(`/${long}`)).data).toMatchObject({
    situacao: 'cancelled',
    terminadoEm: expect.any(String),
    motivo: expect.stringContaining('pausado por mais tempo'),
  })
  expect(await kept(long)).toBe(0)
  expect(await act(long, 'resume')).toMatchObject({ status: 409 })
  expect((await call(`/${lately}`)).data).toMatchObject({ situacao: 'paused', motivo: null })
  expect(await kept(lately)).toBe(3)
  await act(lately, 'resume')
  await settle()
  expect((await call(`/${lately}`)).data).toMatchObject({ situacao: 'done', aceitas: 3 })
})

test('a batch that nobody starts within its term ends as cancelled, and says why', async () => {
  const { erase, check } = await work()
  const { data } = await upload(people(2), { name: 'nunca iniciado' })
  await check()
  await pool.query(`update bulk_batch set created_at = now() - interval '31 days' where id = $1`, [data.id])
  await erase()
  const told = { situacao: 'cancelled', motivo: expect.stringContaining('ninguém o iniciou') }
  expect((await call(`/${data.id}`)).data).toMatchObject(told)
  const { lotes } = (await call('')).data as unknown as { lotes: object[] }
  expect(lotes).toContainEqual(expect.objectContaining({ id: data.id, ...told }))
})

test('a batch that a restoration of the database paused ends like any other that stays paused', async () => {
  onTestFinished(async () => void (await database.tamper('delete from restoration')))
  const { erase, check } = await work()
  const { data } = await upload(people(2), { start: '1' })
  await check()
  await holdCopy(pool, Date.now, { cause: 'behind', detail: 'x', by: 'node:x' })
  expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'paused' })
  await pool.query(`update bulk_batch set created_at = now() - interval '90 days' where id = $1`, [data.id])
  await erase()
  expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'paused' })
  await pool.query(`update bulk_batch set paused_at = paused_at - interval '31 days' where id = $1`, [data.id])
  await erase()
  expect((await call(`/${data.id}`)).data).toMatchObject({ situacao: 'cancelled' })
})
