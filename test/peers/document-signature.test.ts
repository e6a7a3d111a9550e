import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { embeddedFiles } from '../../src/evidence/signature/pdf/embedded-files.js'
import { verifyPdf } from '../../src/evidence/signature/pdf/verification.js'
import { damagedPdf, expectVerdict } from '../support/evidence/damaged-pdf.js'
import { aboutNow, flipped, gapOf, openSigning, type Signing } from '../support/evidence/document-signing.js'
import { typstPdf } from '../support/evidence/typst.js'
import fc from '../support/generated.js'
import { findProgram } from '../support/programs/other-programs.js'

/** Signed documents as independent programs judge them: poppler's pdfsig with NSS, and qpdf. */
const missing = ['pdfsig', 'qpdf', 'certutil'].filter(name => findProgram(name) === null)

describe.skipIf(missing.length > 0)(`a signed document${missing.length > 0 ? ` (missing: ${missing.join(', ')})` : ''}`, () => {
  let signing: Signing
  beforeAll(async () => {
    signing = await openSigning()
  })
  afterAll(() => signing?.close())

  const path = (name: string): string => join(signing.certification.folder, name)
  const evidence = Buffer.from('PK evidence '.repeat(500))
  /** Objects in compressed streams, and cross-references in a stream. */
  const packed = (): Buffer => {
    writeFileSync(path('plain.pdf'), typstPdf('a-3b', evidence))
    execFileSync('qpdf', ['--object-streams=generate', path('plain.pdf'), path('packed.pdf')])
    return readFileSync(path('packed.pdf'))
  }
  const sign = async (pdf: Buffer, by = signing.signer): Promise<Buffer> => Buffer.from((await by.sign(pdf, aboutNow())).pdf)
  function run(program: string, pdf: Uint8Array, ...args: string[]): string {
    writeFileSync(path('checked.pdf'), pdf)
    const { stdout, stderr } = spawnSync(program, [...args, path('checked.pdf')], { encoding: 'utf8' })
    return stdout + stderr
  }
  const VALID = 'Signature is Valid.'

  test.each([
    ['PDF/A-2b', () => typstPdf('a-2b')],
    ['PDF/A-3b', () => typstPdf('a-3b', evidence)],
    ['cross-reference streams', packed],
  ])('of %s is valid for pdfsig, for qpdf and for us', async (_, make) => {
    const signed = await sign(make())
    const said = run('pdfsig', signed)
    expect(said).toContain(VALID)
    expect(said).toContain('Signature Type: ETSI.CAdES.detached')
    expect(said).toContain('Total document signed')
    expect(said).toContain('Signing Hash Algorithm: SHA-256')
    expect(run('qpdf', signed, '--check')).toMatch(/No syntax or stream encoding errors found/)
    expect(verifyPdf(signed)).toMatchObject({ valid: true, signatures: [{ level: 'B-T' }] })
  })

  test('is trusted by a reader that trusts its authority', async () => {
    mkdirSync(path('nss'))
    const certutil = (...args: string[]): Buffer => execFileSync('certutil', ['-d', `sql:${path('nss')}`, ...args])
    certutil('-N', '--empty-password')
    const pdf = await sign(typstPdf('a-2b'))
    expect(run('pdfsig', pdf, '-nssdir', path('nss'))).toMatch(/Signature is Valid\.\s.*Certificate issuer isn't Trusted\./)
    certutil('-A', '-n', 'test', '-t', 'C,C,C', '-i', signing.certification.caFile)
    expect(run('pdfsig', pdf, '-nssdir', path('nss'))).toMatch(/Signature is Valid\.\s.*Certificate is Trusted\./)
  })

  test('is valid without a time-stamp, and with a key of an elliptic curve', async () => {
    const curve = signing.signerWith(signing.issueKey({ name: 'curva' }), [])
    expect(run('pdfsig', await sign(typstPdf('a-2b'), curve))).toContain(VALID)
  })

  test('with one flipped bit is not valid for pdfsig', async () => {
    const pdf = await sign(typstPdf('a-2b'))
    const [start, end] = gapOf(pdf)
    for (const at of [20, 1_000, Math.floor(start / 2), start - 1, end + 10, pdf.length - 3])
      expect(run('pdfsig', flipped(pdf, at)), `byte ${at}`).not.toContain(VALID)
  })

  test('may be signed again, and has its embedded files', async () => {
    const twice = await sign(await sign(packed()))
    expect(run('pdfsig', twice).match(/Signature is Valid/g)).toHaveLength(2)
    expect(run('qpdf', twice, '--check')).toMatch(/No syntax/)
    expect(verifyPdf(twice)).toMatchObject({ valid: true, signatures: [{ fault: null }, { fault: null }] })
    expect(embeddedFiles(twice)).toEqual([{ name: 'evidencia.zip', bytes: evidence }])
  })

  test('of cross-reference streams with any damage has a verdict', async () => {
    const pdf = await sign(packed())
    fc.assert(
      fc.property(damagedPdf(pdf), damaged => expectVerdict(damaged, pdf)),
      { numRuns: 300 },
    )
  })
})
