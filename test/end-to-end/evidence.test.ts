import { afterAll, beforeAll, expect, test } from 'vitest'
import { moduleOf } from '../../src/channels/registry.js'
import { makeLinkCode } from '../../src/domain/recipient/link.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { verifyBundle } from '../../src/evidence/verify/bundle.js'
import { readZip } from '../../src/evidence/verify/zip.js'
import { createAccount, type TestAccount, testKeys } from '../support/gateway/gateway.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { type Stack, startStack } from '../support/gateway/stack.js'

/** From POST to a bundle that a stranger checks, over real sockets and the simulated carriers. */
let stack: Stack
let account: TestAccount

beforeAll(async () => {
  stack = await startStack()
  account = await createAccount(stack.database.pool)
})
afterAll(() => stack.close())

test('the bundle of a notification on five channels holds, has what left, says SIMULADO, and has no link of the recipient in it', async () => {
  const { gateway, database } = stack
  const number = '11987654321'
  const letter = { logradouro: 'Rua das Flores', numero: '10', bairro: 'Centro', cidade: 'Campinas', uf: 'SP', cep: '13010-000' }
  const answer = await send(gateway.url, account.token, {
    ...validSend,
    to: 'entregue@simulador.test',
    attachments: [{ name: 'contrato.pdf', base64: Buffer.from('%PDF-1.4 contrato').toString('base64') }],
    sms: { number, typeSend: '2', content: 'Leia {SHORT_LINK} hoje' },
    whatsapp: { number, typeSend: '2' },
    voz: { number, typeSend: '2' },
    carta: { typeSend: '2', ...letter },
  })
  expect([answer.status, answer.body]).toMatchObject([200, {}])
  const { idEmail: id } = answer.body as { idEmail: string }
  const bundle = async () => {
    const { body } = await request(`${gateway.url}/gw/evidence/${id}`, { token: account.token })
    return Buffer.from(body as string, 'latin1')
  }
  const contents = async () =>
    [...readZip(await bundle()).keys()]
      .filter(path => /^content\/\d+-(email|sms)\./.test(path))
      .sort((a, b) => a.replace(/\d+-/, '').localeCompare(b.replace(/\d+-/, '')))
  await expect.poll(contents, { interval: 500 }).toEqual([expect.stringMatching(/-email\.eml$/), expect.stringMatching(/-sms\./)])
  const [emailPath] = await contents()
  await expect.poll(async () => readZip(await bundle()).has('checkpoint.txt'), { interval: 500 }).toBe(true)

  const bytes = await bundle()
  const files = readZip(bytes)
  const verdict = await verifyBundle(bytes, { key: null }, nodeTools)
  expect(verdict).toMatchObject({ holds: true, notification: id })
  expect(verdict.proven.join(' ')).toContain(emailPath)
  expect(verdict.unproven.join(' ')).toMatch(/asteriscos estão no lugar de \d+ bytes/)
  const text = (path: string): string => Buffer.from(files.get(path)!).toString('latin1')
  expect(text(emailPath!)).toMatch(/^DKIM-Signature:|^[A-Z][\w-]+: /)
  expect(text('LEIA-ME.txt')).toContain('SIMULADO')

  const { rows } = await database.pool.query<{ code: string }>('select code from link where notification_id = $1', [id])
  const secrets = rows.map(({ code }) => code)
  expect(secrets).not.toEqual([])
  for (const channel of ['email', 'sms', 'whatsapp', 'letter'] as const)
    secrets.push(makeLinkCode(testKeys.link, id, moduleOf(channel).linkCode))
  for (const [path, data] of files)
    for (const secret of secrets) expect([path, Buffer.from(data).includes(secret)]).toEqual([path, false])
})
