import { createHash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readSignedData } from '../../../src/evidence/signature/cms.js'
import { readDer } from '../../../src/evidence/signature/der.js'
import { readTimeStamp, verifyTimeStamp } from '../../../src/evidence/signature/time-stamp.js'
import { requestTimeStamp, TimeStampError } from '../../../src/evidence/signature/time-stamp-client.js'
import { type Certification, createCertification } from '../../support/evidence/certification.js'
import { startTimeStampAuthority, type TimeStampAuthority } from '../../support/evidence/time-stamp-authority.js'
import fc from '../../support/generated.js'
import { needPrograms } from '../../support/programs/needed-programs.js'

let certification: Certification
let authority: TimeStampAuthority
const isReady = needPrograms('openssl')
beforeAll(async () => {
  if (!isReady) return
  certification = createCertification()
  authority = await startTimeStampAuthority(certification)
})
beforeEach(() => {
  if (isReady) authority.answer = null
})
afterAll(async () => {
  await authority?.close()
  certification?.remove()
})

const digest = createHash('sha256').update('o conteúdo').digest()
const other = createHash('sha256').update('outro conteúdo').digest()

/** What openssl says of a token, offline, with the test's authority trusted. */
function opensslVerifies(token: Buffer, of: Buffer): boolean {
  const file = join(certification.folder, 'stored.tsr')
  writeFileSync(file, token)
  try {
    const args = ['-token_in', '-in', file, '-digest', of.toString('hex'), '-CAfile', certification.caFile]
    return certification.openssl('ts', '-verify', ...args).includes('OK')
  } catch {
    return false
  }
}

describe('a time-stamp', () => {
  test.each(['ec', 'rsa'] as const)(
    'of an authority with a key of kind %s is stored as openssl verifies it, and so do we',
    async key => {
      const own = await startTimeStampAuthority(certification, { key })
      const before = Date.now() - 1_000
      const token = await requestTimeStamp(own.url, digest)
      await own.close()
      expect(opensslVerifies(token, digest)).toBe(true)
      expect(opensslVerifies(token, other)).toBe(false)
      expect(verifyTimeStamp(token, digest)).toMatchObject({ valid: true })
      expect(verifyTimeStamp(token, other)).toMatchObject({ valid: false, fault: 'O carimbo do tempo é de outro conteúdo.' })
      const { at, authority: facts, policy, digest: stamped } = readTimeStamp(token)
      expect(at.getTime()).toBeGreaterThanOrEqual(before)
      expect(at.getTime()).toBeLessThanOrEqual(Date.now())
      expect(stamped).toEqual(digest)
      expect(policy).toBe('1.2.3.4.1')
      expect(facts.subject).toMatch(/^CN=tsa-\d+, O=Teste, C=BR$/)
      // The token has the whole chain, so that it can be verified by itself for years.
      expect(facts.pem).toHaveLength(2)
    },
  )

  test('with a changed byte is never called right, and the fault is in words', async () => {
    const token = await requestTimeStamp(authority.url, digest)
    const parts = new Set<string>()
    for (let at = 0; at < token.length; at += 8) {
      const changed = Buffer.from(token)
      changed[at]! ^= 1 << ((at / 8) % 8)
      const verdict = verifyTimeStamp(changed, digest)
      if (verdict.valid) {
        // Neither the issuers' certificates nor CMS's own version numbers are signed by the authority: the stamp must be the same.
        expect(verdict.timeStamp).toMatchObject({ at: readTimeStamp(token).at, digest })
        expect(verdict.timeStamp.authority.sha256).toBe(readTimeStamp(token).authority.sha256)
      } else parts.add(verdict.fault)
    }
    expect(parts.size).toBeGreaterThan(4)
    for (const fault of parts) expect(fault).toMatch(/^[A-ZÀ-Ú].*[.]$/)
  })

  test('that is rubbish is a verdict, never an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), bytes => {
        expect(verifyTimeStamp(bytes, digest).valid).toBe(false)
      }),
    )
  })

  test.each([
    ['for something else', 'extendedKeyUsage = critical, emailProtection'],
    ['for something else too', 'extendedKeyUsage = critical, timeStamping, emailProtection'],
    ['whose purpose is not critical', 'extendedKeyUsage = timeStamping'],
    ['without a purpose', 'keyUsage = critical, digitalSignature'],
  ])('by a certificate %s is not one', async (_, line) => {
    certification.issue({ name: 'wrong', extensions: ['basicConstraints = CA:FALSE', line] })
    certification.issue({ name: 'right', extensions: ['extendedKeyUsage = critical, timeStamping'] })
    const token = await requestTimeStamp(authority.url, digest)
    // The same facts, signed as an authority signs them: openssl ts would refuse such a certificate.
    writeFileSync(join(certification.folder, 'info'), readSignedData(readDer(token)).content!)
    const sign = (name: string): Buffer => {
      const how = ['-binary', '-nodetach', '-cades', '-outform', 'DER', '-econtent_type', '1.2.840.113549.1.9.16.1.4']
      return certification.openssl('cms', '-sign', ...how, '-in', 'info', '-signer', `${name}.pem`, '-inkey', `${name}.key`)
    }
    const fault = 'O certificado que assinou o carimbo do tempo não é de uma autoridade de carimbo do tempo.'
    expect(verifyTimeStamp(sign('wrong'), digest)).toMatchObject({ valid: false, fault })
    expect(verifyTimeStamp(sign('right'), digest)).toMatchObject({ valid: true })
  })

  test('made when the certificate had expired does not count', async () => {
    const own = await startTimeStampAuthority(certification, { days: -1 })
    await expect(requestTimeStamp(own.url, digest)).rejects.toThrow(/certificado da autoridade não valia: venceu em/)
    await own.close()
  })
})

describe('a request for a time-stamp', () => {
  const rejection = (url = authority.url, options = {}): Promise<TimeStampError> =>
    requestTimeStamp(url, digest, options).then(
      () => expect.fail('a token'),
      (error: TimeStampError) => {
        expect(error).toBeInstanceOf(TimeStampError)
        expect(error.message).toContain(new URL(url).host)
        return error
      },
    )

  test('goes to the authority that answers when another one is down', async () => {
    const down = await startTimeStampAuthority(certification)
    await down.close()
    const asked = await Promise.allSettled([down.url, authority.url].map(url => requestTimeStamp(url, digest)))
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    expect((await rejection(down.url)).message).toMatch(/Sem conexão/)
  })

  test('is not answered by a token for another request, of the same digest or of another', async () => {
    await requestTimeStamp(authority.url, digest)
    const old = await authority.reply(authority.queries.at(-1)!)
    authority.answer = (_, response) => response.writeHead(200).end(old)
    expect((await rejection()).message).toMatch(/outro pedido \(nonce\)/)
    await expect(requestTimeStamp(authority.url, other)).rejects.toThrow(/outro conteúdo/)
  })

  test('has a time limit, which a slow body does not extend', async () => {
    authority.answer = (_, response) => void response.writeHead(200).write('0')
    expect((await rejection(authority.url, { timeoutMs: 100 })).message).toMatch(/Sem resposta em 0.1 s/)
  })

  test('reads no more bytes than a token may have', async () => {
    authority.answer = (_, response) => response.writeHead(200).end(randomBytes(1_000_000))
    expect((await rejection()).message).toMatch(/grande demais/)
  })

  test('says why the authority refused', async () => {
    authority.answer = (_, response) => response.writeHead(503).end()
    expect((await rejection()).message).toMatch(/HTTP 503/)
    authority.answer = (_, response) => response.writeHead(200).end('<html>')
    expect((await rejection()).message).toMatch(/não é a de uma autoridade/)
    // PKIStatus 2 (rejection), with a text.
    authority.answer = (_, response) =>
      response.writeHead(200).end(Buffer.from('300c300a0201023005 0c03 6e c3a3'.replaceAll(' ', ''), 'hex'))
    expect((await rejection()).message).toMatch(/recusado \(status 2\)\. Ela disse: nã/)
    expect(authority.queries.at(-1)!.length).toBeLessThan(100)
  })

  test('sends the user and the password of the URL, and never says them', async () => {
    let sent: string | undefined
    authority.answer = (_, response, request) => {
      sent = request.headers.authorization
      response.writeHead(401).end()
    }
    const error = await rejection(authority.url.replace('//', '//eu:segr%40do@'))
    expect(sent).toBe(`Basic ${Buffer.from('eu:segr@do').toString('base64')}`)
    expect(error.message).not.toMatch(/segr/)
  })
})
