import { createHash } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findDkimKey, listDkimKeys, readSigningKeys } from '../../../../src/channels/email/dkim/key-store.js'
import {
  checkPublished,
  generateDkimKey,
  openDkimKey,
  removeDkimKey,
  requireDkimKey,
  saveDkimKey,
  startSigning,
} from '../../../../src/channels/email/dkim/keys.js'
import { DkimKeyring } from '../../../../src/channels/email/dkim/open-keyring.js'
import { readSigningKey, type SigningKey, zoneLine } from '../../../../src/channels/email/dkim/signing-key.js'
import { type Lookup, textResolver } from '../../../../src/channels/email/resolver.js'
import { transaction } from '../../../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../../../support/database/database.js'
import { testKeys } from '../../../support/gateway/gateway.js'
import { nameServer, type Zone } from '../name-server.js'

const { sealing } = testKeys
const rsa = generateDkimKey({ domain: 'a.example', selector: 's1' }, 'rsa')
let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})

beforeEach(async () => {
  await database.pool.query('delete from dkim_key')
})

afterAll(() => database.drop())

/** A key of a domain in the database; as it is in memory. */
async function make(domain: string, selector = 's1'): Promise<SigningKey> {
  const key = generateDkimKey({ domain, selector }, 'ed25519')
  await saveDkimKey(database.pool, sealing, key)
  return key
}

async function activate(domain: string, selector = 's1'): Promise<void> {
  const key = await requireDkimKey(database.pool, sealing, { domain, selector })
  await transaction(database.pool, db => startSigning(db, key))
}

async function makeActive(domain: string, selector = 's1'): Promise<SigningKey> {
  const key = await make(domain, selector)
  await activate(domain, selector)
  return key
}

const remove = (domain: string, selector: string, force = false): Promise<void> =>
  transaction(database.pool, db => removeDkimKey(db, { domain, selector }, force))

const signing = async (): Promise<string[]> =>
  (await listDkimKeys(database.pool)).filter(({ signs }) => signs).map(({ domain, selector }) => `${selector}@${domain}`)

describe('a key at rest', () => {
  test('is sealed, and opens as it was made', async () => {
    await saveDkimKey(database.pool, sealing, rsa)
    const stored = (await findDkimKey(database.pool, rsa))!
    expect(stored.privateKey.includes('PRIVATE KEY')).toBe(false)
    expect(openDkimKey(sealing, stored).key.equals(rsa.key)).toBe(true)
    expect(stored).toMatchObject({ algorithm: 'rsa', activatedAt: null, signs: false })
  })

  test.each([
    ['another domain', "private_key = (select private_key from dkim_key where domain = 'b.example')"],
    ['another selector', "selector = 's2'"],
    ['a changed domain', "domain = 'a.example.com'"],
  ])('does not open in the row of %s', async (_, tampering) => {
    await make('a.example')
    await make('b.example')
    await database.pool.query(`update dkim_key set ${tampering} where domain = 'a.example'`)
    const [row] = await listDkimKeys(database.pool)
    const stored = await findDkimKey(database.pool, row!)
    expect(() => openDkimKey(sealing, stored!)).toThrow('foi alterada no banco e não abre')
    expect(() => openDkimKey(createHash('sha256').digest(), stored!)).toThrow('foi alterada no banco e não abre')
  })

  test('of a selector that the domain has already is refused, and the first stays', async () => {
    const first = await make('a.example')
    await expect(make('a.example')).rejects.toThrow('Já existe a chave DKIM s1 de a.example')
    expect(openDkimKey(sealing, (await findDkimKey(database.pool, first))!).key.equals(first.key)).toBe(true)
  })
})

describe('which key signs', () => {
  test('none before it is activated; then the newest activated, also when that is an old one again', async () => {
    await make('a.example', 's1')
    expect(await signing()).toEqual([])
    await activate('a.example', 's1')
    await make('a.example', 's2')
    expect(await signing()).toEqual(['s1@a.example'])
    await activate('a.example', 's2')
    expect(await signing()).toEqual(['s2@a.example'])
    await activate('a.example', 's1')
    expect(await signing()).toEqual(['s1@a.example'])
  })

  test('an activation wins over one from a clock that was ahead', async () => {
    await makeActive('a.example', 's1')
    await database.pool.query("update dkim_key set activated_at = now() + interval '1 day'")
    await makeActive('a.example', 's2')
    expect(await signing()).toEqual(['s2@a.example'])
  })

  test('the one that signs is removed only by force, and then the one before it signs', async () => {
    await makeActive('a.example', 's1')
    await makeActive('a.example', 's2')
    await expect(remove('a.example', 's2')).rejects.toThrow('assina os e-mails de a.example')
    expect(await signing()).toEqual(['s2@a.example'])
    await remove('a.example', 's2', true)
    expect(await signing()).toEqual(['s1@a.example'])
    await expect(remove('a.example', 's2')).rejects.toThrow('Não existe a chave DKIM s2 de a.example')
  })

  test('a key that was recreated while its DNS record was looked up is not activated', async () => {
    await make('a.example')
    const looked = await requireDkimKey(database.pool, sealing, { domain: 'a.example', selector: 's1' })
    await remove('a.example', 's1')
    await make('a.example')
    await expect(transaction(database.pool, db => startSigning(db, looked))).rejects.toThrow('foi removida enquanto isso')
    expect(await signing()).toEqual([])
  })

  test('a removal waits for an activation under way, and then sees that the key signs', async () => {
    await make('a.example')
    const key = await requireDkimKey(database.pool, sealing, { domain: 'a.example', selector: 's1' })
    const waiting = async (): Promise<number> =>
      (await database.pool.query("select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"))
        .rowCount!
    const removed = await transaction(database.pool, async db => {
      await startSigning(db, key)
      const removal = remove('a.example', 's1').catch((error: Error) => error.message)
      await expect.poll(waiting).toBe(1)
      return { removal }
    })
    expect(await removed.removal).toContain('assina os e-mails de a.example')
    expect(await signing()).toEqual(['s1@a.example'])
  })
})

describe('looking a key up in DNS', () => {
  const check = async (zone: (value: string, line: string) => Zone | undefined): Promise<void> => {
    const { record } = await requireDkimKey(database.pool, sealing, { domain: 'a.example', selector: 's1' })
    const given = zone(record.value, zoneLine(record))
    const { address } = await nameServer(given === undefined ? {} : { [record.name]: given })
    await checkPublished(record, textResolver([address]))
  }

  beforeEach(async () => {
    await saveDkimKey(database.pool, sealing, rsa)
  })

  test('finds it in the strings of a zone file', async () => {
    await check((_, line) => ({ txt: [[...line.matchAll(/"([^"]*)"/g)].map(([, text]) => text!)] }))
  })

  test.each<[string, (value: string) => Zone | undefined, RegExp]>([
    ['a name that does not exist', () => undefined, /^Não há registro TXT em s1\._domainkey\.a\.example\./],
    ['a name without a text', () => ({ a: ['127.0.0.1'] }), /^Não há registro TXT em /],
    [
      'another text',
      () => ({ txt: [['v=DKIM1; k=rsa; p=AAAA\u001b[2J']] }),
      /não é o desta chave\. Encontrado:\n {2}v=DKIM1; k=rsa; p=AAAA\?\[2J\n/,
    ],
    [
      'two texts',
      value => ({ txt: [[value.slice(0, 255), value.slice(255)], ['v=DKIM1; p=']] }),
      /Encontrado:\n.*\n {2}v=DKIM1; p=\n/,
    ],
    ['a server that fails', () => ({ failure: 2 }), /^O DNS não respondeu sobre /],
  ])('refuses %s, and says what must be there', async (_, zone, reason) => {
    await expect(check(zone)).rejects.toThrow(reason)
    const { record } = await requireDkimKey(database.pool, sealing, { domain: 'a.example', selector: 's1' })
    const nobody = async (): Promise<Lookup<string>> => ({ status: 'missing' })
    await expect(checkPublished(record, nobody)).rejects.toThrow(`Deve haver um só, com o valor:\n  ${record.value}\n`)
  })
})

describe('the keyring', () => {
  const errors: string[] = []
  let isDown = false
  const asked: (readonly number[])[] = []

  beforeEach(() => {
    errors.length = 0
    asked.length = 0
    isDown = false
  })

  async function open(own: SigningKey | null = null): Promise<DkimKeyring> {
    const keyring = new DkimKeyring({
      own,
      sealing,
      readSigningKeys: known => {
        asked.push(known)
        return isDown ? Promise.reject(new Error('down')) : readSigningKeys(database.pool, known)
      },
      onError: (_, what) => errors.push(what),
    })
    await keyring.refresh()
    return keyring
  }

  const own = (domain: string): SigningKey =>
    readSigningKey({
      domain,
      selector: 'own',
      privateKeyPem: generateDkimKey({ domain, selector: 'own' }, 'ed25519').key.export({
        type: 'pkcs8',
        format: 'pem',
      }) as string,
    })

  const chosen = (keyring: DkimKeyring, domain: string): string | null => {
    const key = keyring.find(domain)
    return key === null ? null : `${key.selector}@${key.domain}`
  }

  test('chooses the domain itself, else the nearest above it, else the installation’s key, else none', async () => {
    await makeActive('example.com')
    await makeActive('avisos.example.com')
    await make('novo.example.com')
    const keyring = await open(own('gateway.test'))
    expect(chosen(keyring, 'avisos.example.com')).toBe('s1@avisos.example.com')
    expect(chosen(keyring, 'sp.Avisos.example.com')).toBe('s1@avisos.example.com')
    expect(chosen(keyring, 'novo.example.com')).toBe('s1@example.com')
    expect(chosen(keyring, 'badexample.com')).toBe('own@gateway.test')
    expect(chosen(keyring, 'com')).toBe('own@gateway.test')
    expect(chosen(await open(), 'badexample.com')).toBeNull()
  })

  test('takes the installation’s key as that of its domain, unless the database has one', async () => {
    await makeActive('example.com')
    const keyring = await open(own('avisos.example.com'))
    expect(chosen(keyring, 'sp.avisos.example.com')).toBe('own@avisos.example.com')
    await makeActive('avisos.example.com')
    await keyring.refresh()
    expect(chosen(keyring, 'sp.avisos.example.com')).toBe('s1@avisos.example.com')
  })

  test('rotates without a gap: the old key signs until the new one is active, the old one may go then', async () => {
    await makeActive('example.com', 's1')
    const keyring = await open()
    await make('example.com', 's2')
    await keyring.refresh()
    expect(chosen(keyring, 'example.com')).toBe('s1@example.com')
    await activate('example.com', 's2')
    expect(chosen(keyring, 'example.com')).toBe('s1@example.com')
    await keyring.refresh()
    expect(chosen(keyring, 'example.com')).toBe('s2@example.com')
    await remove('example.com', 's1')
    await keyring.refresh()
    expect(chosen(keyring, 'example.com')).toBe('s2@example.com')
    await remove('example.com', 's2', true)
    await keyring.refresh()
    expect(chosen(keyring, 'example.com')).toBeNull()
  })

  test('keeps the very same key while it is the one: its secret is not read again', async () => {
    await makeActive('example.com')
    const keyring = await open()
    const before = keyring.find('example.com')
    await keyring.refresh()
    expect(keyring.find('example.com')).toBe(before)
    const { id } = (await listDkimKeys(database.pool))[0]!
    expect(asked).toEqual([[], [id]])
    expect(await readSigningKeys(database.pool, [id])).toMatchObject([{ id, privateKey: null }])
  })

  test('a key recreated under the same selector is a different key', async () => {
    await makeActive('example.com')
    const keyring = await open()
    await remove('example.com', 's1', true)
    const anew = await makeActive('example.com')
    await keyring.refresh()
    expect(keyring.find('example.com')!.key.equals(anew.key)).toBe(true)
  })

  test('keeps its keys while the database cannot be read', async () => {
    await makeActive('example.com')
    const keyring = await open()
    isDown = true
    await expect(keyring.refresh()).rejects.toThrow('down')
    expect(chosen(keyring, 'example.com')).toBe('s1@example.com')
  })

  test('a key that does not open is reported, the earlier key stays in use, and the other keys are not affected', async () => {
    await makeActive('example.com', 's1')
    const keyring = await open()
    await makeActive('example.com', 's2')
    await makeActive('example.org')
    await database.pool.query("update dkim_key set private_key = '\\x00' where selector = 's2'")
    await keyring.refresh()
    expect(errors).toEqual(['the DKIM key s2 of example.com does not open'])
    expect(chosen(keyring, 'example.com')).toBe('s1@example.com')
    expect(chosen(keyring, 'example.org')).toBe('s1@example.org')
    expect(chosen(await open(), 'example.com')).toBeNull()
  })
})
