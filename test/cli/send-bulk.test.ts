import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { drawBar, plainProgress, type ShownBatch, span } from '../../src/cli/progress.js'
import { setPrice } from '../../src/store/accounts/costs.js'
import { bulkWorkForTest } from '../support/gateway/bulk.js'
import { runCommand } from '../support/gateway/command.js'
import { gatewayForFile } from '../support/gateway/gateway.js'

const settings = { 'bulk.perMinute': 10_000_000 }
const { database, gateway, account } = await gatewayForFile({ account: { settings } })
const { pool } = database
const folder = await mkdtemp(join(tmpdir(), 'carteiro-send-bulk-'))
const base = join(folder, 'base.json')

let working = true
let worker: Promise<void>
beforeAll(async () => {
  await writeFile(base, JSON.stringify({ subject: 'Aviso', content: '<p>Olá {{ nome }}</p>' }))
  const { check, send } = await bulkWorkForTest(pool)
  worker = (async () => {
    while (working) {
      await check()
      await send()
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  })()
})
afterAll(async () => {
  working = false
  await worker
  await rm(folder, { recursive: true })
})

const sendBulk = (file: string, ...args: string[]) =>
  runCommand(['send-bulk', file, '--base', base, '--url', gateway.url, '--token', account.token, ...args])

async function fileOf(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const sent = async (): Promise<number> => Number((await pool.query('select count(*) from notification')).rows[0].count)
const people = (count: number, prefix: string): string =>
  `nome;email\n${Array.from({ length: count }, (_, index) => `P${index};${prefix}${index}@example.com\n`).join('')}`

describe('carteiro send-bulk', () => {
  test('--base and --mapping in another encoding than UTF-8 are refused before anything is uploaded', async () => {
    const file = await fileOf('latin1.csv', people(1, 'l'))
    const path = join(folder, 'latin1.json')
    await writeFile(path, Buffer.from(JSON.stringify({ subject: 'Cobrança' }), 'latin1'))
    for (const option of ['--base', '--mapping']) {
      const { status, stderr } = await sendBulk(file, option, path)
      expect([status, stderr]).toEqual([1, expect.stringMatching(/latin1\.json.*UTF-8/)])
    }
    expect((await pool.query('select from bulk_batch')).rowCount).toBe(0)
  })

  test('--dry-run shows each error with its line and column, writes the rejects, sends nothing, and fails', async () => {
    const file = await fileOf('errado.csv', `${people(2, 'a')}Zé;errado\n`)
    const rejects = join(folder, 'rejeitadas.csv')
    const { status, stdout, stderr } = await sendBulk(file, '--dry-run', '--rejects', rejects)
    expect(status).toBe(1)
    expect(stdout).toContain('linha 4, email: O campo to não é um endereço de e-mail válido.')
    expect(stderr).toContain('1 linhas não podem ser enviadas')
    expect(await readFile(rejects, 'utf8')).toContain('"Zé";"errado";"4";"email"')
    expect(await sent()).toBe(0)
  })

  test('sends every line, writes the result, and sends nothing when it is repeated', async () => {
    const file = await fileOf('bom.csv', people(25, 'b'))
    const result = join(folder, 'resultado.csv')
    const first = await sendBulk(file, '--json', '--result', result)
    expect([first.status, first.stderr]).toEqual([0, ''])
    expect(JSON.parse(first.stdout)).toMatchObject({ situacao: 'done', aceitas: 25 })
    expect((await readFile(result, 'utf8')).trimEnd().split('\r\n')).toHaveLength(26)
    const before = await sent()
    const again = await sendBulk(file)
    expect(again).toMatchObject({ status: 0, stdout: expect.stringContaining('25 linhas: 25 aceitas, 0 com erro') })
    expect(await sent()).toBe(before)
  })

  test('Ctrl-C pauses; the same command goes on, and each line goes once', async () => {
    await pool.query(`update account set settings = settings || '{"bulk.perMinute": 1200}' where id = $1`, [account.id])
    const before = await sent()
    const file = await fileOf('longo.csv', people(40, 'c'))
    const running = sendBulk(file)
    await expect.poll(sent).toBeGreaterThan(before)
    process.emit('SIGINT')
    const paused = await running
    expect(paused).toMatchObject({ status: 1, stderr: expect.stringContaining('Pausado') })
    expect(await sent()).toBeLessThan(before + 40)
    await pool.query(`update account set settings = settings || '{"bulk.perMinute": 10000000}' where id = $1`, [account.id])
    expect(await sendBulk(file)).toMatchObject({ status: 0 })
    expect(await sent()).toBe(before + 40)
  })

  test('a batch that meets the cap of the month says so, and the same command goes on once the cap is higher', async () => {
    const setCap = (cap: number) =>
      pool.query(`update account set settings = settings || jsonb_build_object('cost.month.cap', $2::int) where id = $1`, [
        account.id,
        cap,
      ])
    await setPrice(pool, { channel: 'sms', carrier: '', price: 0.3 })
    await setCap(1)
    const before = await sent()
    const file = await fileOf('caro.csv', `nome;celular;sms.customMessage\n${'Ana;11987654321;Oi\n'.repeat(5)}`)
    const paused = await sendBulk(file)
    expect(paused).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Pausado: as linhas que faltam passariam do teto'),
    })
    expect(await sent()).toBe(before + 3)
    await setCap(0)
    expect(await sendBulk(file)).toMatchObject({ status: 0 })
    expect(await sent()).toBe(before + 5)
  })

  test('a long message is saved as a mapping first, and a mapping may be a file', async () => {
    const long = join(folder, 'longa.json')
    await writeFile(long, JSON.stringify({ subject: 'Aviso', content: `<p>${'texto '.repeat(2_000)}</p>` }))
    const mapping = join(folder, 'mapa.json')
    await writeFile(mapping, JSON.stringify({ quem: 'nameTo', onde: 'to' }))
    const file = await fileOf('mapa.csv', 'quem;onde\nAna;ana@example.com\n')
    expect(await sendBulk(file, '--base', long, '--mapping', mapping)).toMatchObject({ status: 0 })
  })

  test.each([
    [['nada.csv'], 'não existe'],
    [['errado.csv', '--mapping', 'nenhum'], 'Não há um mapeamento salvo'],
    [['errado.csv', '--base', 'errado.csv'], 'não é um JSON'],
    [['errado.csv', '--url', 'http://127.0.0.1:9'], 'Sem conexão'],
  ])('%j is a mistake that it explains', async (args, reason) => {
    const [file, ...rest] = args.map(arg => (arg.endsWith('.csv') ? join(folder, arg) : arg))
    expect(await sendBulk(file!, ...rest)).toMatchObject({ status: 1, stderr: expect.stringContaining(reason) })
  })
})

describe('carteiro send-bulk, with an API that', () => {
  const batch = (situacao: string, members: object = {}) => ({
    ...{ id: 'b1', situacao, motivo: null, total: 2, conferidas: 0, boas: 0, rejeitadas: 0, aceitas: 0, falhas: 0, erros: [] },
    ...{ porMinuto: null, segundosRestantes: null, ...members },
  })
  const data = (response: ServerResponse, value: object): unknown => response.end(JSON.stringify({ data: value }))

  /** Answers each request, such as "POST /gw/bulk", as the test says, and keeps their names. */
  async function scripted(answer: (asked: string, response: ServerResponse, times: number) => unknown) {
    const asked: string[] = []
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        const name = `${request.method} ${request.url!.split('?')[0]}`
        asked.push(name)
        answer(name, response, asked.filter(other => other === name).length)
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const file = await fileOf('roteiro.csv', people(2, 'r'))
    return { asked, run: (...args: string[]) => sendBulk(file, '--url', url, ...args) }
  }

  test.each([
    [[], 0, 'Interrompido antes do envio; o mesmo comando continua.\n'],
    [[], 2, 'Interrompido antes do envio; o mesmo comando continua.\n'],
    [['--dry-run'], 1, 'Interrompido antes do fim da conferência; o mesmo comando continua.\n'],
  ])('still checks, Ctrl-C fails and says that nothing went: %j, %i good lines so far', async (args, boas, told) => {
    const { asked, run } = await scripted((name, response) => {
      if (name.startsWith('GET')) process.emit('SIGINT')
      data(response, batch('checking', { boas }))
    })
    const { status, stderr } = await run('--json', ...args)
    expect([status, stderr]).toEqual([1, told])
    expect(asked).not.toContain('POST /gw/bulk/b1/start')
  })

  test('has checked, Ctrl-C before the start fails too, and with --dry-run a checked batch is no failure', async () => {
    const { run } = await scripted((name, response) => {
      if (name === 'POST /gw/bulk') process.emit('SIGINT')
      data(response, batch('checked', { boas: 2 }))
    })
    expect(await run('--json')).toMatchObject({ status: 1, stderr: expect.stringContaining('Interrompido antes do envio') })
    expect(await run('--json', '--dry-run')).toMatchObject({ status: 0, stderr: '' })
  })

  test('sends since an earlier run, Ctrl-C during the upload pauses the batch', async () => {
    let state = 'sending'
    const { asked, run } = await scripted((name, response) => {
      if (name === 'POST /gw/bulk') process.emit('SIGINT')
      if (name.endsWith('/pause')) state = 'paused'
      data(response, batch(state, { boas: 2 }))
    })
    expect(await run('--json')).toMatchObject({ status: 1, stderr: expect.stringMatching(/^Pausado\. O mesmo comando continua/) })
    expect(asked).toContain('POST /gw/bulk/b1/pause')
  })

  test('is behind a proxy that answers in HTML for a moment, the command asks again', async () => {
    const { run } = await scripted((name, response, times) => {
      if (name === 'GET /gw/bulk/b1' && times === 1) return response.writeHead(502).end('<h1>Bad Gateway</h1>')
      return data(response, batch('done', { boas: 2, aceitas: 2 }))
    })
    expect(await run('--json')).toMatchObject({ status: 0, stderr: '' })
  })

  test.each([
    [502, '/gw/bulk'],
    [404, '/gw/bulk'],
    [404, '/gw/bulk/b1'],
  ])('answers %i in HTML to %s, the command says so without a stack', async (status, path) => {
    const { run } = await scripted((name, response) =>
      name.endsWith(` ${path}`)
        ? response.writeHead(status).end('<h1>no</h1>')
        : data(response, batch('done', { boas: 2, aceitas: 2 })),
    )
    const told = new RegExp(`^http://127\\.0\\.0\\.1:\\d+ respondeu ${status}, e não como a API\\. Confira --url .*\\n$`)
    expect(await run('--json')).toMatchObject({ status: 1, stderr: expect.stringMatching(told) })
  })

  test('breaks off a download, the command says where the file still is, and half of it does not stay', async () => {
    const { run } = await scripted((name, response) => {
      if (!name.endsWith('/rejects')) return data(response, batch('done', { boas: 2, aceitas: 2 }))
      response.writeHead(200, { 'content-length': '1000' }).write('linha')
      return setTimeout(() => response.destroy(), 50)
    })
    const { status, stderr } = await run('--json', '--rejects', join(folder, 'metade.csv'))
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^A API não deu .*a conexão caiu.*baixe o arquivo depois.*\n$/)])
    expect((await readdir(folder)).filter(name => name.startsWith('metade'))).toEqual([])
  })

  test('gives rejects and results, their files are for the owner alone', async () => {
    const { run } = await scripted((name, response) =>
      name.endsWith('/rejects') || name.endsWith('/result')
        ? response.end('Ana;ana@example.com\n')
        : data(response, batch('done', { boas: 2, aceitas: 2 })),
    )
    const files = ['r1.csv', 'r2.csv'].map(name => join(folder, name))
    expect(await run('--json', '--rejects', files[0]!, '--result', files[1]!)).toMatchObject({ status: 0 })
    for (const file of files) {
      expect(await readFile(file, 'utf8')).toBe('Ana;ana@example.com\n')
      expect((await stat(file)).mode & 0o777).toBe(0o600)
    }
  })
})

describe('progress', () => {
  const batch: ShownBatch = {
    situacao: 'sending',
    total: 100,
    conferidas: 100,
    boas: 90,
    rejeitadas: 10,
    aceitas: 44,
    falhas: 1,
    porMinuto: 600,
    segundosRestantes: 75,
  }
  test('is a bar with the rate and the time left on a terminal, and a line for each tenth elsewhere', () => {
    expect(drawBar(batch, 60)).toBe('[#######.......] 45/90 enviando, 600/min, faltam 1 min 15 s')
    expect(drawBar({ ...batch, situacao: 'checking', conferidas: 0, porMinuto: null, segundosRestantes: null }, 40)).toBe(
      '[....................] 0/100 conferindo',
    )
    expect(plainProgress(batch)).toBe('enviando: 50% de 90 linhas')
    expect([span(5), span(3_900)]).toEqual(['5 s', '1 h 5 min'])
  })
})
