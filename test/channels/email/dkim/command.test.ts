import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dataFolder } from '../../../support/database/data-folder.js'
import { createDatabase, type TestDatabase } from '../../../support/database/database.js'
import { runCommand } from '../../../support/gateway/command.js'
import { nameServer, type Zone } from '../name-server.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

afterAll(() => database.drop())

const dkim = (...args: string[]) => runCommand(['dkim', ...args], database.url)

/** Its JSON, or why it failed. */
async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await dkim(...args, '--json')
  return status === 0 ? JSON.parse(stdout) : { status, stderr }
}

describe('carteiro dkim', () => {
  test('a key is made, published, activated, followed by another and taken away', async () => {
    const zones: Record<string, Zone> = {}
    const { address } = await nameServer(zones)
    const made = await json('create', 'Avisos.Example.COM', '--selector', 's1')
    expect(made).toMatchObject({
      domain: 'avisos.example.com',
      selector: 's1',
      algorithm: 'rsa',
      signs: false,
      activatedAt: null,
    })
    expect(made).toMatchObject({ name: 's1._domainkey.avisos.example.com', type: 'TXT' })
    expect(await json('show', 'avisos.example.com', 's1')).toEqual(made)

    const early = await json('activate', 'avisos.example.com', 's1', '--server', address)
    expect(early).toMatchObject({ status: 1, stderr: expect.stringContaining('Não há registro TXT em s1._domainkey') })
    expect(early.stderr).toContain(made.value)
    zones[made.name as string] = { txt: [[...(made.zone as string).matchAll(/"([^"]*)"/g)].map(([, text]) => text!)] }
    expect(await json('activate', 'avisos.example.com', 's1', '--server', address)).toMatchObject({ signs: true })

    expect(await json('create', 'avisos.example.com', '--selector', 's2', '--algorithm', 'ed25519')).toMatchObject({
      signs: false,
    })
    expect(await json('activate', 'avisos.example.com', 's2', '--force')).toMatchObject({ algorithm: 'ed25519', signs: true })
    expect(await json('list')).toMatchObject([
      { selector: 's1', signs: false },
      { selector: 's2', signs: true },
    ])
    expect(await json('remove', 'avisos.example.com', 's2')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('--force'),
    })
    expect(await json('remove', 'avisos.example.com', 's1')).toEqual({
      domain: 'avisos.example.com',
      selector: 's1',
      removed: true,
    })

    const { rows } = await database.pool.query(
      "select action, detail from audit where subject like '%avisos.example.com' order by id",
    )
    expect(rows).toEqual([
      { action: 'dkim create', detail: { algorithm: 'rsa', imported: false } },
      { action: 'dkim activate', detail: { forced: false } },
      { action: 'dkim create', detail: { algorithm: 'ed25519', imported: false } },
      { action: 'dkim activate', detail: { forced: true } },
      { action: 'dkim remove', detail: { forced: false } },
    ])
  })

  test('a key from a file shows its public half and nothing else; the selector bears the date', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const file = join(dataFolder(), 'dkim.pem')
    writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }))
    const { status, stdout, stderr } = await dkim('create', 'importado.example.com', '--key-file', file)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')
    expect(stdout).toMatch(/^seletor +carteiro-\d{8}$/m)
    expect(stdout).toMatch(/^nome +carteiro-\d{8}\._domainkey\.importado\.example\.com$/m)
    expect(stdout).toContain(`v=DKIM1; k=rsa; p=${publicKey}\n`)
    expect(stdout).toMatch(/^zona +carteiro-\d{8}\._domainkey\.importado\.example\.com\. IN TXT \( "[^"]{255}" "[^"]+" \)$/m)
    const { d, p, q } = privateKey.export({ format: 'jwk' })
    for (const secret of [d!, p!, q!]) {
      expect(stdout).not.toContain(Buffer.from(secret, 'base64url').toString('base64').slice(0, 40))
    }
    expect(stdout).not.toContain('PRIVATE')
  })

  test.each([
    [['create', 'localhost'], '"localhost" não formam um nome de chave DKIM'],
    [['create', 'example.com', '--key-file', '/etc/hostname'], 'DKIM: a chave privada não é um PEM'],
    [['create', 'example.com', '--key-file', 'x', '--algorithm', 'rsa'], 'informe --algorithm ou --key-file, não os dois'],
    [['activate', 'example.com', 's9'], 'Não existe a chave DKIM s9 de example.com'],
    [['activate', 'example.com', 's9', '--server', 'ns.example.com'], 'Informe o IP de um servidor de DNS'],
  ])('%j fails and says why', async (args, reason) => {
    expect(await json(...args)).toEqual({ status: 1, stderr: expect.stringContaining(reason) })
  })
})
