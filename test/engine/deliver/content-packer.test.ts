import { hash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { packContent } from '../../../src/channels/pack-content.js'
import type { PackedContent, SentContent } from '../../../src/domain/delivery/sent-content.js'
import { type ContentPacker, createContentPacker } from '../../../src/engine/deliver/content-packer.js'

async function packerForTest(): Promise<ContentPacker> {
  const packer = createContentPacker()
  onTestFinished(() => packer.close())
  await packer.pack(plain('Esta inicia a thread.'))
  await expect.poll(() => packer.isReady).toBe(true)
  return packer
}

const plain = (text: string, more: Partial<SentContent> = {}): SentContent => ({
  type: 'text/plain',
  extension: 'txt',
  bytes: Buffer.from(text),
  ...more,
})

/** The salt is another at every time, and the digest of the secret with it. */
const withoutSalt = ({ salt, statement: { secret, ...statement }, ...rest }: PackedContent) => ({
  ...rest,
  statement,
  isSalted: salt?.length,
})

test('contents that are packed together are packed as each would be alone', async () => {
  const packer = await packerForTest()
  const contents = [
    plain(''),
    plain('Olá.'),
    plain('Seu contrato vence. '.repeat(100)),
    plain('Veja https://avisos.example.com/n/a1b2c3d4e5 hoje. '.repeat(40), { secrets: ['a1b2c3d4e5'] }),
    plain('A carta.', { copy: { type: 'application/json', extension: 'json', bytes: Buffer.from('{"carta":1}'.repeat(50)) } }),
    plain(`aqui ${'x'.repeat(500)} acaba`, { files: [{ at: 5, length: 500, sha256: 'f'.repeat(64), encoding: 'none' }] }),
    plain('Grande demais para ir a outra thread. '.repeat(3_000)),
  ]
  const together = await Promise.all([...contents, ...contents].map(content => packer.pack(content)))
  const alone = await Promise.all(contents.map(packContent))
  expect(together.map(withoutSalt)).toEqual([...alone, ...alone].map(withoutSalt))
  expect(together.every(({ bytes, salt }) => Buffer.isBuffer(bytes) && (salt === null || Buffer.isBuffer(salt)))).toBe(true)
})

test('the digest of a secret is that of the salt that came with it', async () => {
  const content = plain('Veja a1b2c3d4e5.', { secrets: ['a1b2c3d4e5'] })
  const [one, other] = await Promise.all([content, content].map((await packerForTest()).pack))
  expect(one!.salt!.equals(other!.salt!)).toBe(false)
  for (const { salt, hidden, statement } of [one!, other!]) {
    const hashed = Buffer.concat([salt!, Buffer.from(JSON.stringify(hidden)), Buffer.from('a1b2c3d4e5')])
    expect(statement.secret).toBe(hash('sha256', hashed, 'hex'))
  }
})

test('a content that cannot be packed takes no other along', async () => {
  const packer = await packerForTest()
  const broken = plain('Olá.', { secrets: [null] as unknown as string[] })
  const settled = await Promise.allSettled([plain('antes'), broken, plain('depois')].map(packer.pack))
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
})

test('what left is packed also where the thread ends before it answers', async () => {
  const packer = await packerForTest()
  const content = plain('Seu contrato vence. '.repeat(100))
  const packing = packer.pack(content)
  await packer.close()
  expect(withoutSalt(await packing)).toEqual(withoutSalt(await packContent(content)))
})

test('the first message does not wait for the thread to start', async () => {
  const packer = createContentPacker()
  onTestFinished(() => packer.close())
  let isPacked = false
  void packer.pack(plain('Seu contrato vence. '.repeat(100))).then(() => {
    isPacked = true
  })
  await new Promise(resolve => setImmediate(resolve))
  expect([isPacked, packer.isReady]).toEqual([true, false])
})
