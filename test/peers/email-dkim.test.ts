import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readSigningKeys } from '../../src/channels/email/dkim/key-store.js'
import { generateDkimKey, requireDkimKey, saveDkimKey, startSigning } from '../../src/channels/email/dkim/keys.js'
import { DkimKeyring } from '../../src/channels/email/dkim/open-keyring.js'
import { createSigner } from '../../src/channels/email/dkim/signer.js'
import { dkimRecord, type SigningKey } from '../../src/channels/email/dkim/signing-key.js'
import { composeEmail } from '../../src/channels/email/message/compose.js'
import { email } from '../channels/email/messages.js'
import { databaseForTest } from '../support/database/database.js'
import { testKeys } from '../support/gateway/gateway.js'
import { findProgram, run } from '../support/programs/other-programs.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const program = findProgram('opendkim')

const messages = {
  'text and HTML': email(),
  'attachments and long headers': email({
    subject: 'Comunicação de decisão '.repeat(20),
    replyTo: 'b@bounce.example.com',
    receiptTo: 'b@bounce.example.com',
    attachments: [{ name: 'Notificação nº 1.pdf', bytes: Buffer.alloc(100_000, 7) }],
  }),
  'blanks and empty lines': email({ text: '  a \t b  \n\n\n.\n \n', html: '<p>a   b</p>\n\n\n' }),
}

describe.skipIf(program === null)('against OpenDKIM (opendkim -t)', () => {
  const key = generateDkimKey({ domain: 'orgao.example.com', selector: 'carteiro1' }, 'rsa')

  /** What opendkim says of a message, with the key's record as its DNS. */
  function verdict(folder: string, message: Buffer, record = dkimRecord(key)): string {
    const keys = join(folder, 'keys')
    writeFileSync(keys, `${record.name} ${record.value}\n`)
    const settings = join(folder, 'opendkim.conf')
    writeFileSync(settings, `Mode v\nTestPublicKeys ${keys}\nOn-BadSignature reject\nOn-NoSignature reject\nSyslog no\n`)
    const file = join(folder, 'message.eml')
    writeFileSync(file, message)
    return run(program!, ['-x', settings, '-t', file, '-vvv'])
  }

  async function sign(message: Buffer, find = (_: string): SigningKey | null => key): Promise<Buffer> {
    const signer = createSigner({ find, threads: 1 })
    onTestFinished(() => signer.close())
    return await (signer.forDomain('orgao.example.com')?.(message) ?? message)
  }

  test.each(Object.entries(messages))('our signature of a message with %s holds', async (_, message) => {
    const said = verdict(temporaryFolder(), await sign(composeEmail(message)))
    expect(said).toMatch(/verification \(s=carteiro1,? d=orgao\.example\.com, 2048-bit key\) succeeded/)
  })

  test('and stops holding when one letter of the body changes', async () => {
    const signed = (await sign(composeEmail(email({ text: 'cem reais' })))).toString('latin1')
    const forged = Buffer.from(signed.replace('cem reais', 'mil reais'), 'latin1')
    const said = verdict(temporaryFolder(), forged)
    expect(said).toMatch(/failed: signature verification failed/)
    expect(said).not.toMatch(/succeeded/)
  })

  test.each([
    ['rsa', '2048-bit'],
    ['ed25519', '0-bit'],
  ] as const)(
    'a key of the database (%s) holds for mail of a domain below its own, with the record that we show',
    async (algorithm, size) => {
      const { pool } = await databaseForTest()
      const name = { domain: 'example.com', selector: 'carteiro2' }
      await saveDkimKey(pool, testKeys.sealing, generateDkimKey(name, algorithm))
      const saved = await requireDkimKey(pool, testKeys.sealing, name)
      await startSigning(pool, saved)
      const readKeys = (known: readonly number[]) => readSigningKeys(pool, known)
      const keyring = new DkimKeyring({ own: key, sealing: testKeys.sealing, readSigningKeys: readKeys, onError: expect.fail })
      await keyring.refresh()
      const signed = await sign(composeEmail(email()), () => keyring.find('avisos.example.com'))
      const said = verdict(temporaryFolder(), signed, saved.record)
      expect(said).toMatch(new RegExp(`verification \\(s=carteiro2,? d=example\\.com, ${size} key\\) succeeded`))
    },
  )
})
