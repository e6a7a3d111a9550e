import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { composeEmail } from '../../src/channels/email/compose.js'
import { createSigner } from '../../src/channels/email/dkim.js'
import { email } from '../channels/email/messages.js'
import { findProgram, run, temporaryFolder } from './email-programs.js'

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
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64')

  /** What opendkim says of a message. */
  function verdict(folder: string, message: Buffer): string {
    const keys = join(folder, 'keys')
    writeFileSync(keys, `carteiro1._domainkey.orgao.example.com v=DKIM1; k=rsa; p=${publicKey}\n`)
    const settings = join(folder, 'opendkim.conf')
    writeFileSync(settings, `Mode v\nTestPublicKeys ${keys}\nOn-BadSignature reject\nOn-NoSignature reject\nSyslog no\n`)
    const file = join(folder, 'message.eml')
    writeFileSync(file, message)
    return run(program!, ['-x', settings, '-t', file, '-vvv'])
  }

  async function sign(message: Buffer): Promise<Buffer> {
    const signer = createSigner({ domain: 'orgao.example.com', selector: 'carteiro1', privateKeyPem, threads: 1 })
    onTestFinished(() => signer.close())
    return await signer.sign(message)
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
})
