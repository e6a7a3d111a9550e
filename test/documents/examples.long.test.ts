import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDemo, demoToken } from '../../src/app/process/demo.js'
import { type Block, documents, isMirror, nameOf, readBlocks } from '../support/documents.js'
import { testKeys } from '../support/gateway/gateway.js'
import { type Receiver, startReceiver } from '../support/gateway/receiver.js'
import { request, send } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'
import { needPrograms } from '../support/programs/needed-programs.js'
import { pngOf } from '../support/programs/pictures.js'
import { ROOT } from '../support/sources.js'
import { openShell } from './document-shell.js'

/** Every example of the documents that can be run, against one gateway with its worker and the simulated carriers. blocks.test.ts says what each is. */
const ready = needPrograms('bash', 'curl')
/** Each time a shell is started. */
const PATIENTLY = { interval: 300 }
// The accounts of the other documents are made by this one.
const FIRST = ['README.md', 'docs/contas.md']
const all = documents().sort((a, b) => Number(FIRST.includes(b)) - Number(FIRST.includes(a)))
const blocksOf = new Map(all.map(path => [path, readBlocks(path)]))

describe.skipIf(!ready)('against a gateway', () => {
  let stack: Stack
  let receiver: Receiver
  let token: string
  let shell: Awaited<ReturnType<typeof openShell>>
  let folder: string

  beforeAll(async () => {
    stack = await startStack(undefined, { WEBHOOK_ALLOWED_RANGES: '127.0.0.0/8' })
    receiver = await startReceiver()
    await createDemo(stack.database.pool)
    token = (await demoToken(stack.database.pool, testKeys))!
    shell = await openShell({ stack, token, receiver: receiver.url })
    folder = mkdtempSync(join(tmpdir(), 'documents-'))
  })

  afterAll(async () => {
    await shell.close()
    await receiver.close()
    await stack.close()
    rmSync(folder, { recursive: true })
  })

  test.for(all.filter(path => !isMirror(path) && blocksOf.get(path)!.some(isRun)))('%s', async path => {
    const home = join(folder, path.replaceAll('/', '-'))
    mkdirSync(home)
    writeFileSync(join(home, 'logo.png'), pngOf(64, 64))
    for (const name of ['evidencia.zip', 'exemplo-evidencia.zip'])
      copyFileSync(join(ROOT, 'docs/exemplo-evidencia.zip'), join(home, name))
    let last = { text: '', stdout: '' }
    for (const block of blocksOf.get(path)!) {
      const [word = ''] = block.words
      if (word === 'not-run') continue
      if (/\.(json|csv)$/.test(word)) writeFileSync(join(home, word), block.text)
      if (block.lang === 'json' && word === 'POST') {
        expect(block.words[1], nameOf(block)).toBe('/gw/email')
        expect(await send(stack.gateway.url, token, JSON.parse(block.text)), nameOf(block)).toMatchObject({ status: 200 })
      }
      if (block.lang === 'sh') {
        last = { text: block.text, stdout: await runBlock(home, block) }
      }
      if (block.lang === 'json' && word === '') {
        const { text, stdout } = last
        const answer = async () => (onlyReads(text) ? (await shell.run(home, text)).stdout : stdout)
        const compare = async () => difference(JSON.parse(block.text), JSON.parse(await answer()), '')
        await expect.poll(compare, { message: nameOf(block), ...PATIENTLY }).toEqual([])
      }
      if (block.lang === 'json' && word === 'event') {
        await send(stack.gateway.url, token, {
          nameTo: 'Maria',
          to: 'entregue@simulador.test',
          subject: 'x',
          content: '<p>x</p>',
          customID: 'pedido-7',
        })
        const arrived = () => receiver.got.map(({ json }) => difference(JSON.parse(block.text), json, ''))
        await expect.poll(arrived, { message: nameOf(block) }).toContainEqual([])
      }
      if (block.lang === 'js') await verifyAs(block, (await shell.run(home, 'printf %s "$WEBHOOK_SECRET"')).stdout)
    }
    await request(`${stack.simulator.url}/simulator/faults`, { method: 'PUT', body: { email: {}, sms: {} } })
  })

  /** What happens after a send takes a moment, so that a reader may have to ask again; what sends or changes something is run once. */
  async function runBlock(home: string, block: Block): Promise<string> {
    const run = () => shell.run(home, block.text)
    let outcome = await run()
    if (outcome.status !== 0 && onlyReads(block.text)) {
      await expect.poll(async () => (await run()).status, { message: nameOf(block), ...PATIENTLY }).toBe(0)
      outcome = await run()
    }
    if (outcome.status !== 0) throw new Error(`${nameOf(block)}\n${outcome.stderr}${outcome.stdout}`)
    return outcome.stdout
  }

  /** Runs a reader's check of a webhook over one that arrived. */
  async function verifyAs({ text }: Block, secret: string): Promise<void> {
    const file = join(folder, 'verify.mjs')
    if (!existsSync(join(folder, 'node_modules'))) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const [line] = /^import.*$/m.exec(text)!
    writeFileSync(file, `${line}\nexport default (rawBody, request) => {\n${text.replace(line, '')}\nreturn event }\n`)
    const { body, headers } = receiver.got[0]!
    const { default: verify } = (await import(pathToFileURL(file).href)) as { default(body: string, request: object): unknown }
    process.env.WEBHOOK_SECRET = secret
    try {
      expect(verify(body, { headers })).toEqual(JSON.parse(body))
      expect(() => verify(`${body} `, { headers })).toThrow()
    } finally {
      delete process.env.WEBHOOK_SECRET
    }
  }

  test('the client’s examples compile and run', async () => {
    const home = join(folder, 'client')
    mkdirSync(join(home, 'node_modules'), { recursive: true })
    symlinkSync(ROOT, join(home, 'node_modules/carteiro'))
    symlinkSync(join(ROOT, 'node_modules/@types'), join(home, 'node_modules/@types'))
    writeFileSync(join(home, 'package.json'), '{"type":"module"}')
    const options = { target: 'es2023', module: 'nodenext', strict: true, types: ['node'], skipLibCheck: true }
    writeFileSync(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }))
    const written = [...blocksOf.values()].flat().filter(({ lang }) => lang === 'ts')
    expect(written.length).toBeGreaterThan(1)
    for (const [index, { text }] of written.entries()) {
      writeFileSync(join(home, `${index}.ts`), text.replaceAll('http://127.0.0.1:8080', stack.gateway.url))
    }
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', home], {
      encoding: 'utf8',
    })
    expect(stdout).toBe('')
    process.env.CARTEIRO_TOKEN = token
    try {
      for (const index of written.keys()) await import(pathToFileURL(join(home, `${index}.js`)).href)
    } finally {
      delete process.env.CARTEIRO_TOKEN
    }
  })
})

function isRun({ lang, words: [word = ''] }: Block): boolean {
  return word !== 'not-run' && (lang === 'sh' || lang === 'json' || lang === 'csv')
}

const onlyReads = (script: string): boolean => !/ -d | -X |--data|carteiro (?!verify)/.test(script)

/** Where an answer differs from its example. What has digits or an ellipsis in it is of that moment: any text will do. */
function difference(example: unknown, real: unknown, place: string): string[] {
  if (Array.isArray(example)) {
    if (!Array.isArray(real) || real.length === 0) return [`${place}: no list`]
    return example.flatMap((item, index) => difference(item, real[index] ?? real[0], `${place}[${index}]`))
  }
  if (typeof example === 'object' && example !== null) {
    if (typeof real !== 'object' || real === null) return [`${place}: no object`]
    const names = Object.keys(example).filter(name => name !== '…')
    const others = Object.keys(real).filter(name => !names.includes(name) && !('…' in example))
    return [
      ...names.flatMap(name =>
        name in real
          ? difference(example[name as keyof typeof example], real[name as keyof typeof real], `${place}.${name}`)
          : [`${place}.${name}: missing`],
      ),
      ...others.map(name => `${place}.${name}: not in the document`),
    ]
  }
  if (typeof example === 'string' && /[\d…]/.test(example)) return typeof real === 'string' ? [] : [`${place}: no text`]
  if (typeof example === 'number') return typeof real === 'number' ? [] : [`${place}: no number`]
  return example === real ? [] : [`${place}: ${JSON.stringify(real)}`]
}
