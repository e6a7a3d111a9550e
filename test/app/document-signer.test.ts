import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { openDocumentSigner } from '../../src/app/document-signer.js'
import { deriveKeys } from '../../src/domain/access/keys.js'
import { OperatorError } from '../../src/domain/errors.js'
import type { DocumentSigner } from '../../src/evidence/signature/document-signer.js'
import { verifyPdf } from '../../src/evidence/signature/pdf/verification.js'
import { type Certification, createCertification } from '../support/certification.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { needPrograms } from '../support/needed-programs.js'
import { startTimeStampAuthority } from '../support/time-stamp-authority.js'
import { typstPdf } from '../support/typst.js'

let database: TestDatabase
let certification: Certification
const isReady = needPrograms('openssl')
beforeAll(async () => {
  if (!isReady) return
  database = await createDatabase()
  certification = createCertification()
})
afterAll(async () => {
  await database?.drop()
  certification?.remove()
})

const keys = deriveKeys(Buffer.alloc(32, 3))
async function open(env: NodeJS.ProcessEnv): Promise<DocumentSigner> {
  const config = readConfig({ PUBLIC_URL: 'https://notifica.example.com', ...env })
  const signer = await openDocumentSigner(config, database.pool, keys, pino({ level: 'silent' }))
  onTestFinished(() => signer.close())
  return signer
}
const pack = (name: string): string => {
  const parts = ['-inkey', `${name}.key`, '-in', `${name}.pem`, '-certfile', 'ca.pem', '-passout', 'pass:senha']
  certification.openssl('pkcs12', '-export', ...parts, '-out', `${name}.p12`)
  return join(certification.folder, `${name}.p12`)
}
const about = () => ({ reason: 'Laudo', at: new Date() })

describe('the signer of documents', () => {
  test('without settings signs with a certificate of its own, the same one after every start', async () => {
    const [first, second] = [await open({}), await open({})]
    expect(first.certificate).toMatchObject({ selfMade: true, icpBrasil: false })
    expect(first.certificate.subject).toContain('CN=Documentos de notifica.example.com')
    expect(second.certificate.sha256).toBe(first.certificate.sha256)
    const { pdf, level } = await first.sign(typstPdf('a-2b'), about())
    expect(level).toBe('B-B')
    expect(verifyPdf(pdf)).toMatchObject({
      valid: true,
      signatures: [{ certificate: { selfSigned: true, sha256: first.certificate.sha256 } }],
    })
  })

  test('takes the certificate of a PKCS#12 file, and time-stamps of TSA_URL', async () => {
    certification.issue({ name: 'empresa' })
    const passwordFile = join(certification.folder, 'senha')
    writeFileSync(passwordFile, 'senha\n')
    const authority = await startTimeStampAuthority(certification)
    onTestFinished(() => authority.close())
    const p12 = { SIGNATURE_P12_FILE: pack('empresa'), TSA_URL: authority.url }
    for (const password of [{ SIGNATURE_P12_PASSWORD: 'senha' }, { SIGNATURE_P12_PASSWORD_FILE: passwordFile }]) {
      const signer = await open({ ...p12, ...password })
      expect(signer.certificate).toMatchObject({ selfMade: false, icpBrasil: false, subject: 'CN=empresa, O=Teste, C=BR' })
      expect(signer.certificate.pem).toHaveLength(2)
      expect((await signer.sign(typstPdf('a-2b'), about())).level).toBe('B-T')
    }
  })

  test('does not start with a certificate that has expired', async () => {
    certification.issue({ name: 'vencida', days: -1 })
    const opening = open({ SIGNATURE_P12_FILE: pack('vencida'), SIGNATURE_P12_PASSWORD: 'senha' })
    await expect(opening).rejects.toThrow(OperatorError)
    await expect(opening).rejects.toThrow(
      /^SIGNATURE_P12_FILE: o certificado CN=vencida, .* venceu em .*Informe um certificado em vigor/,
    )
  })

  test('does not start with files that are not there, named with their settings', async () => {
    const p12 = { SIGNATURE_P12_FILE: '/ausente.p12' }
    await expect(open(p12)).rejects.toThrow(/\/ausente\.p12 \(SIGNATURE_P12_FILE\)/)
    await expect(open({ ...p12, SIGNATURE_P12_PASSWORD_FILE: '/ausente' })).rejects.toThrow(
      /\/ausente \(SIGNATURE_P12_PASSWORD_FILE\)/,
    )
    const uri = 'pkcs11:token=t;object=o?module-path=/m.so&pin-source=file:/ausente'
    await expect(open({ SIGNATURE_PKCS11: uri, SIGNATURE_ISSUERS_FILE: '/nada' })).rejects.toThrow(
      /\/nada \(SIGNATURE_ISSUERS_FILE\)/,
    )
    await expect(open({ SIGNATURE_PKCS11: uri })).rejects.toThrow(/SIGNATURE_PKCS11: .*PIN em \/ausente/)
  })

  test.each([
    [{ SIGNATURE_PKCS11: 'modulo.so' }, /SIGNATURE_PKCS11 deve ser uma URI como pkcs11:/],
    [{ SIGNATURE_P12_FILE: 'a', SIGNATURE_P12_PASSWORD: 'x', SIGNATURE_P12_PASSWORD_FILE: 'y' }, /não podem ser usadas juntas/],
    [
      { SIGNATURE_P12_FILE: 'a', SIGNATURE_PKCS11: 'pkcs11:token=t;object=o?module-path=m&pin-source=p' },
      /SIGNATURE_P12_FILE e SIGNATURE_PKCS11 não podem ser usadas juntas/,
    ],
  ])('refuses settings that contradict each other: %o', (env, problem) => {
    expect(() => readConfig(env)).toThrow(problem)
  })

  test('warns of settings that have no effect', () => {
    const warned = (env: NodeJS.ProcessEnv): string => readConfig(env).warnings.join('\n')
    expect(warned({ SIGNATURE_P12_PASSWORD: 'x' })).toBe('SIGNATURE_P12_PASSWORD não tem efeito sem SIGNATURE_P12_FILE.')
    expect(warned({ SIGNATURE_ISSUERS_FILE: 'x' })).toBe('SIGNATURE_ISSUERS_FILE não tem efeito sem SIGNATURE_PKCS11.')
    expect(warned({ SIGNATURE_P12_FILE: 'x', SIGNATURE_P12_PASSWORD: 'x' })).toBe('')
  })
})
