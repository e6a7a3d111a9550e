import { verify, type X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deriveKeys } from '../../../src/domain/access/keys.js'
import { OperatorError } from '../../../src/domain/errors.js'
import { factsOf, readCertificate } from '../../../src/evidence/signature/certificate-facts.js'
import type { SigningKey } from '../../../src/evidence/signature/cms-writing.js'
import { describeCertificate } from '../../../src/evidence/signature/document-signer.js'
import { makeCertificate, ownSigningKey } from '../../../src/evidence/signature/key/own-certificate.js'
import { openPkcs11 } from '../../../src/evidence/signature/key/pkcs11.js'
import { readPkcs12 } from '../../../src/evidence/signature/key/pkcs12.js'
import { readPkcs11Uri } from '../../../src/evidence/signature/key/settings.js'
import { databaseForTest } from '../../support/database/database.js'
import { type Certification, createCertification } from '../../support/evidence/certification.js'
import { needPrograms } from '../../support/programs/needed-programs.js'

let certification: Certification
const isReady = needPrograms('openssl')
beforeAll(() => {
  if (!isReady) return
  certification = createCertification()
})
afterAll(() => certification?.remove())

const path = (name: string): string => join(certification.folder, name)
async function signs({ certificate, sign }: SigningKey): Promise<boolean> {
  const bytes = Buffer.from('o que se assina')
  return verify('sha256', bytes, certificate.publicKey, await sign(bytes))
}
const ICP_POLICY = 'certificatePolicies = 2.16.76.1.2.1.99'

describe('a PKCS#12 file', () => {
  const pack = (name: string, ...args: string[]): string => {
    const parts = ['-inkey', `${name}.key`, '-in', `${name}.pem`, '-certfile', 'ca.pem', '-passout', 'pass:çenha']
    certification.openssl('pkcs12', '-export', ...parts, ...args, '-out', `${name}.p12`)
    return path(`${name}.p12`)
  }
  /** As certification authorities in Brazil deliver it. */
  const OLD = ['-legacy', '-certpbe', 'PBE-SHA1-RC2-40', '-keypbe', 'PBE-SHA1-3DES', '-macalg', 'sha1']

  test.each([
    ['of today (AES-256)', 'rsa', []],
    ['of old (RC2-40 and 3DES)', 'rsa', OLD],
    ['with a key of an elliptic curve', 'ec', []],
  ] as const)('%s gives its key, its certificate and the issuer', async (_, key, args) => {
    certification.issue({ name: 'empresa', key })
    const read = readPkcs12(pack('empresa', ...args), 'çenha', new Date())
    expect(factsOf(read.certificate).subject).toBe('CN=empresa, O=Teste, C=BR')
    expect(read.issuers.map(({ subject }) => subject)).toEqual(['C=BR\nO=Teste\nCN=AC de teste'])
    expect(await signs(read)).toBe(true)
  })

  test('that does not open says why, without the password', () => {
    certification.issue({ name: 'fechada' })
    const file = pack('fechada')
    const opening = (where: string, password: string) => (): unknown => readPkcs12(where, password, new Date())
    expect(opening(file, 'errada')).toThrow(OperatorError)
    expect(opening(file, 'errada')).toThrow(/SIGNATURE_P12_FILE: .* não abre com a senha de SIGNATURE_P12_PASSWORD\.$/)
    expect(opening(path('ausente.p12'), 'x')).toThrow(
      /Não foi possível ler o certificado em .*ausente\.p12 \(SIGNATURE_P12_FILE\)/,
    )
    expect(opening(certification.caFile, 'x')).toThrow(/não é um arquivo PKCS#12/)
    certification.openssl('pkcs12', '-export', '-nokeys', '-in', 'ca.pem', '-passout', 'pass:x', '-out', 'vazio.p12')
    expect(opening(path('vazio.p12'), 'x')).toThrow(/não tem uma chave privada com o certificado dela/)
  })

  test('whose certificate is not valid now, or not for documents, is refused', () => {
    const reading =
      (name: string, now = new Date()) =>
      (): unknown =>
        readPkcs12(pack(name), 'çenha', now)
    certification.issue({ name: 'vencida', days: -1 })
    expect(reading('vencida')).toThrow(
      /o certificado CN=vencida, O=Teste, C=BR venceu em \d{4}-.*Informe um certificado em vigor/,
    )
    certification.issue({ name: 'futura' })
    expect(reading('futura', new Date(Date.now() - 86_400_000))).toThrow(/só vale a partir de/)
    certification.issue({ name: 'outra', extensions: ['keyUsage = critical, keyAgreement'] })
    expect(reading('outra')).toThrow(/não é para assinar documentos/)
  })
})

describe('a PKCS#11 token', () => {
  test('needs pkcs11-tool, and says which package has it', async () => {
    writeFileSync(path('pin'), '1234')
    const { PATH } = process.env
    process.env.PATH = certification.folder
    try {
      await expect(
        openPkcs11({ module: '/m.so', token: 't', object: 'o', pinFile: path('pin') }, [], new Date()),
      ).rejects.toThrow(/falta o programa pkcs11-tool .*\(apt install opensc\)/)
    } finally {
      process.env.PATH = PATH
    }
  })

  test('is named by a URI of RFC 7512', () => {
    const uri = 'pkcs11:token=carteiro;object=minha%20chave?module-path=/usr/lib/m.so&pin-source=file:/etc/carteiro/pin'
    const read = { token: 'carteiro', object: 'minha chave', module: '/usr/lib/m.so', pinFile: '/etc/carteiro/pin' }
    expect(readPkcs11Uri(uri)).toEqual(read)
    for (const wrong of ['', 'pkcs11:', uri.replace('object', 'objeto'), uri.replace('%20', '%'), uri.split('&')[0]!, `x${uri}`])
      expect(readPkcs11Uri(wrong)).toBeNull()
  })
})

describe('the certificate that an installation makes', () => {
  const { sealing } = deriveKeys(Buffer.alloc(32, 7))

  test('is one, even when several nodes start at once, and its key opens with the master key alone', async () => {
    const { pool, tamper } = await databaseForTest()
    const now = new Date()
    const nodes = await Promise.all([1, 2, 3].map(() => ownSigningKey(pool, sealing, 'notifica.example.com', now)))
    const again = await ownSigningKey(pool, sealing, 'outro.example.com', now)
    expect(new Set([...nodes, again].map(({ certificate }) => certificate.fingerprint256)).size).toBe(1)
    for (const key of [...nodes, again]) expect(await signs(key)).toBe(true)
    await expect(ownSigningKey(pool, deriveKeys(Buffer.alloc(32, 8)).sealing, 'x', now)).rejects.toThrow(/não abre/)
    await expect(pool.query("update document_certificate set certificate = '\\x00'")).rejects.toThrow(/permission denied/)
    await expect(pool.query('delete from document_certificate')).rejects.toThrow(/permission denied/)
    // A sealed key of another certificate does not open.
    const other = await makeCertificate('x.example.com', now)
    await tamper('update document_certificate set certificate = $1', [other.certificate])
    await expect(ownSigningKey(pool, sealing, 'x', now)).rejects.toThrow(/document_certificate/)
  })

  test('names the installation, lasts ten years and never claims ICP-Brasil', async () => {
    const now = new Date('2026-11-16T12:00:00Z')
    const made = await makeCertificate('notifica.example.com', now)
    const certificate = readCertificate(made.certificate)
    expect(certificate.verify(certificate.publicKey)).toBe(true)
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: 'prime256v1' })
    expect(certificate.ca).toBe(false)
    const facts = describeCertificate([certificate], true)
    expect(facts).toMatchObject({ selfMade: true, icpBrasil: false, validTo: new Date('2036-11-16T12:00:00Z') })
    expect(facts.subject).toBe('CN=Documentos de notifica.example.com, OU=Certificado próprio (fora da ICP-Brasil), O=Carteiro')
    expect(facts.description).toMatch(/próprio .*fora da ICP-Brasil/)
    writeFileSync(path('own.der'), made.certificate)
    const said = certification.openssl('x509', '-inform', 'DER', '-in', 'own.der', '-noout', '-text').toString()
    expect(said).toMatch(/X509v3 Key Usage: critical\s+Digital Signature, Non Repudiation/)
  })

  test('is made again before it ends', async () => {
    const { pool } = await databaseForTest()
    const first = await ownSigningKey(pool, sealing, 'a.example.com', new Date('2026-01-01'))
    const kept = await ownSigningKey(pool, sealing, 'a.example.com', new Date('2035-11-01'))
    expect(kept.certificate.raw).toEqual(first.certificate.raw)
    const next = await ownSigningKey(pool, sealing, 'a.example.com', new Date('2035-12-20'))
    expect(next.certificate.raw).not.toEqual(first.certificate.raw)
  })
})

describe('ICP-Brasil', () => {
  const read = (folder: string, ...names: string[]): X509Certificate[] =>
    names.map(name => readCertificate(readFileSync(join(folder, `${name}.pem`))))

  test('is said of a certificate with its policy and its authorities alone', () => {
    const icp = createCertification('/C=BR/O=ICP-Brasil/CN=Autoridade Certificadora Raiz Brasileira v10')
    const extensions = ['keyUsage = critical, digitalSignature, nonRepudiation', ICP_POLICY]
    try {
      icp.issue({ name: 'real', extensions, subject: '/C=BR/O=ICP-Brasil/CN=EMPRESA:11222333000181' })
      icp.issue({ name: 'no-policy' })
      icp.issue({ name: 'other-policy', extensions: ['certificatePolicies = 2.16.76.1.20.1'] })
      icp.issue({ name: 'self', extensions, subject: '/C=BR/O=ICP-Brasil/CN=Eu', selfSigned: true })
      certification.issue({ name: 'stranger', extensions, subject: '/C=BR/O=ICP-Brasil/CN=EMPRESA:11222333000181' })
      const said = (...chain: X509Certificate[]): boolean => describeCertificate(chain, false).icpBrasil
      expect(said(...read(icp.folder, 'real', 'ca'))).toBe(true)
      expect(describeCertificate(read(icp.folder, 'real'), false).description).toBe('certificado da ICP-Brasil')
      expect(describeCertificate(read(icp.folder, 'real'), true).icpBrasil).toBe(false)
      expect(said(...read(icp.folder, 'no-policy', 'ca'))).toBe(false)
      expect(said(...read(icp.folder, 'other-policy', 'ca'))).toBe(false)
      expect(said(...read(icp.folder, 'self'))).toBe(false)
      expect(said(...read(certification.folder, 'stranger', 'ca'))).toBe(false)
      expect(describeCertificate(read(icp.folder, 'no-policy'), false).description).toMatch(/fora da ICP-Brasil/)
    } finally {
      icp.remove()
    }
  })
})
