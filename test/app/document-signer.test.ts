import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { openDocumentSigner } from '../../src/app/document-signer.js'
import { keepSigner } from '../../src/app/kept-signer.js'
import { deriveKeys } from '../../src/domain/access/keys.js'
import { OperatorError } from '../../src/domain/errors.js'
import type { DocumentSigner } from '../../src/evidence/signature/document-signer.js'
import { verifyPdf } from '../../src/evidence/signature/pdf/verification.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { type Certification, createCertification } from '../support/evidence/certification.js'
import { startTimeStampAuthority } from '../support/evidence/time-stamp-authority.js'
import { typstPdf } from '../support/evidence/typst.js'
import { needPrograms } from '../support/programs/needed-programs.js'

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
  const signer = await openDocumentSigner(config, database.pool, keys, pino({ level: 'silent' }), new Date())
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

describe('a node that runs past the end of its certificate', () => {
  const DAY = 86_400_000
  function keep(env: NodeJS.ProcessEnv) {
    const config = readConfig({ PUBLIC_URL: 'https://notifica.example.com', ...env })
    const time = { now: Date.now() }
    const faults: unknown[] = []
    let openings = 0
    const signer = keepSigner(
      now => {
        openings++
        return openDocumentSigner(config, database.pool, keys, pino({ level: 'silent' }), now)
      },
      () => time.now,
      error => faults.push(error),
    )
    onTestFinished(() => signer.close())
    return { signer, time, faults, openings: () => openings }
  }
  const signAt = async ({ signer, time }: ReturnType<typeof keep>) => {
    const { pdf } = await (await signer()).sign(typstPdf('a-2b'), { reason: 'Laudo', at: new Date(time.now) })
    return verifyPdf(pdf)
  }
  const p12 = (name: string, days: number): string => {
    certification.issue({ name, days })
    return pack(name)
  }
  const over = { code: 'certificateOver', message: expect.stringContaining('SIGNATURE_P12_FILE') }

  test('a signer refuses to sign at a moment at which its certificate is not valid', async () => {
    const { signer, time } = keep({ SIGNATURE_P12_FILE: p12('curta', 10), SIGNATURE_P12_PASSWORD: 'senha' })
    const opened = await signer()
    for (const days of [-1, 11]) {
      const signing = opened.sign(typstPdf('a-2b'), { reason: 'Laudo', at: new Date(time.now + days * DAY) })
      await expect(signing).rejects.toMatchObject({ ...over, cause: { message: expect.stringContaining('CN=curta') } })
    }
  })

  test('signs with the next certificate of its own before the end of the first', async () => {
    const kept = keep({})
    const first = (await kept.signer()).certificate
    kept.time.now = first.validTo.getTime() - 29 * DAY
    expect(await signAt(kept)).toMatchObject({ valid: true })
    const second = (await kept.signer()).certificate
    expect(second.sha256).not.toBe(first.sha256)
    expect(second.validTo > first.validTo).toBe(true)
    expect(await kept.signer.readEnd()).toEqual(second.validTo)
  })

  test('takes the renewed file without a restart, and signs nothing until there is one', async () => {
    const file = p12('vence', 10)
    const kept = keep({ SIGNATURE_P12_FILE: file, SIGNATURE_P12_PASSWORD: 'senha' })
    const { validTo } = (await kept.signer()).certificate
    kept.time.now += 11 * DAY
    await expect(signAt(kept)).rejects.toMatchObject(over)
    expect(await kept.signer.readEnd()).toEqual(validTo)
    copyFileSync(p12('renovada', 400), file)
    expect(await signAt(kept)).toMatchObject({
      valid: true,
      signatures: [{ certificate: { subject: 'CN=renovada, O=Teste, C=BR' } }],
    })
    const { openings } = kept
    const before = openings()
    expect(await kept.signer()).toBe(await kept.signer())
    expect(openings()).toBe(before)
  })

  test('near the end looks for a later file once an hour, and goes on with the one it has', async () => {
    const kept = keep({ SIGNATURE_P12_FILE: p12('perto', 20), SIGNATURE_P12_PASSWORD: 'senha' })
    const first = await kept.signer()
    for (const minutes of [0, 59, 2, 59, 2]) {
      kept.time.now += minutes * 60_000
      expect(await kept.signer()).toBe(first)
    }
    expect(kept.openings()).toBe(3)
    writeFileSync(join(certification.folder, 'perto.p12'), 'danificado')
    kept.time.now += 61 * 60_000
    expect(await kept.signer()).toBe(first)
    expect(kept.faults).toEqual([expect.any(OperatorError)])
    expect(await signAt(kept)).toMatchObject({ valid: true })
  })
})
