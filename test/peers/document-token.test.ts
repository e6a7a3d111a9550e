import { execFileSync } from 'node:child_process'
import { verify, type X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OperatorError } from '../../src/domain/errors.js'
import { factsOf, readCertificate } from '../../src/evidence/signature/certificate-facts.js'
import type { SigningKey } from '../../src/evidence/signature/cms-writing.js'
import { openPkcs11 } from '../../src/evidence/signature/key/pkcs11.js'
import type { Pkcs11Location } from '../../src/evidence/signature/key/settings.js'
import { type Certification, createCertification } from '../support/evidence/certification.js'
import { findProgram } from '../support/programs/other-programs.js'

/** Signatures by a token, played by SoftHSM, with OpenSC's pkcs11-tool. */
const MODULE = '/usr/lib/softhsm/libsofthsm2.so'
const missing = [
  ...['softhsm2-util', 'pkcs11-tool'].filter(name => findProgram(name) === null),
  ...(existsSync(MODULE) ? [] : [MODULE]),
]

async function signs({ certificate, sign }: SigningKey): Promise<boolean> {
  const bytes = Buffer.from('o que se assina')
  return verify('sha256', bytes, certificate.publicKey, await sign(bytes))
}

describe.skipIf(missing.length > 0)(`a PKCS#11 token${missing.length > 0 ? ` (missing: ${missing.join(', ')})` : ''}`, () => {
  let certification: Certification
  const path = (name: string): string => join(certification.folder, name)
  const softhsm = (...args: string[]): Buffer => execFileSync('softhsm2-util', args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const tool = (...args: string[]): Buffer => {
    const place = ['--module', MODULE, '--token-label', 'carteiro', '--login', '--pin', '1234']
    return execFileSync('pkcs11-tool', [...place, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const at = (object: string): Pkcs11Location => ({ module: MODULE, token: 'carteiro', object, pinFile: path('pin') })
  const issuers = (): X509Certificate[] => [readCertificate(readFileSync(certification.caFile))]
  const earlier = process.env.SOFTHSM2_CONF
  beforeAll(() => {
    certification = createCertification()
    mkdirSync(path('tokens'))
    writeFileSync(path('softhsm.conf'), `directories.tokendir = ${path('tokens')}\nobjectstore.backend = file\n`)
    process.env.SOFTHSM2_CONF = path('softhsm.conf')
    writeFileSync(path('pin'), '1234\n')
    softhsm('--init-token', '--free', '--label', 'carteiro', '--pin', '1234', '--so-pin', '5678')
    for (const [index, key] of (['rsa', 'ec'] as const).entries()) {
      const { certFile, keyFile } = certification.issue({ name: `token-${key}`, key })
      const id = `0${index + 1}`
      const pkcs8 = path(`${key}.pkcs8`)
      certification.openssl('pkcs8', '-topk8', '-nocrypt', '-in', keyFile, '-out', pkcs8)
      softhsm('--import', pkcs8, '--token', 'carteiro', '--label', key, '--id', id, '--pin', '1234')
      certification.openssl('x509', '-in', certFile, '-outform', 'DER', '-out', `${key}.der`)
      tool('--write-object', path(`${key}.der`), '--type', 'cert', '--label', key, '--id', id)
    }
    // The certificate of another key.
    softhsm('--import', path('rsa.pkcs8'), '--token', 'carteiro', '--label', 'trocada', '--id', '09', '--pin', '1234')
    tool('--write-object', path('ec.der'), '--type', 'cert', '--label', 'trocada', '--id', '09')
  })
  afterAll(() => {
    if (earlier === undefined) delete process.env.SOFTHSM2_CONF
    else process.env.SOFTHSM2_CONF = earlier
    certification?.remove()
  })

  test.each(['rsa', 'ec'])('signs with its key of kind %s, which never leaves it', async object => {
    const key = await openPkcs11(at(object), issuers(), new Date())
    expect(factsOf(key.certificate).subject).toBe(`CN=token-${object}, O=Teste, C=BR`)
    expect(key.issuers).toHaveLength(1)
    expect(await Promise.all([signs(key), signs(key)])).toEqual([true, true])
  })

  test('that cannot sign is known at the start, with the cure', async () => {
    const opening = (location: Pkcs11Location): Promise<SigningKey> => openPkcs11(location, [], new Date())
    await expect(opening(at('ausente'))).rejects.toThrow(/não foi possível ler a chave ausente do token carteiro\. Confira/)
    await expect(opening({ ...at('rsa'), pinFile: path('sem-pin') })).rejects.toThrow(/não foi possível ler o PIN em .*sem-pin/)
    writeFileSync(path('pin-errado'), '0000')
    await expect(opening({ ...at('rsa'), pinFile: path('pin-errado') })).rejects.toThrow(OperatorError)
    await expect(opening({ ...at('rsa'), module: '/ausente.so' })).rejects.toThrow(OperatorError)
    await expect(opening(at('trocada'))).rejects.toThrow(/não assina, ou não é a do certificado/)
    await expect(openPkcs11(at('rsa'), [], new Date(Date.now() + 400 * 86_400_000))).rejects.toThrow(
      /SIGNATURE_PKCS11: .*venceu em/,
    )
  })
})
