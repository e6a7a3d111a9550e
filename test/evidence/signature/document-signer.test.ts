import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seeded } from '../../../simulator/random.js'
import { readCertificate } from '../../../src/evidence/signature/certificate-facts.js'
import { type SigningKey, signedAttributes, writeSignedData } from '../../../src/evidence/signature/cms-writing.js'
import { SignatureFault } from '../../../src/evidence/signature/fault.js'
import { embeddedFiles } from '../../../src/evidence/signature/pdf/embedded-files.js'
import { prepareSignature } from '../../../src/evidence/signature/pdf/signature-update.js'
import { verifyPdf } from '../../../src/evidence/signature/pdf/verification.js'
import { firstTimeStamp } from '../../../src/evidence/signature/time-stamp-client.js'
import { damagedPdf, expectVerdict } from '../../support/evidence/damaged-pdf.js'
import { aboutNow, flipped, gapOf, openSigning, type Signing } from '../../support/evidence/document-signing.js'
import { typstPdf } from '../../support/evidence/typst.js'
import fc from '../../support/generated.js'
import { needPrograms } from '../../support/programs/needed-programs.js'

let signing: Signing
const isReady = needPrograms('openssl')
beforeAll(async () => {
  if (!isReady) return
  signing = await openSigning()
})
afterAll(() => signing?.close())

const evidence = Buffer.from('PK evidence '.repeat(500))
const files = { 'PDF/A-2b': () => typstPdf('a-2b'), 'PDF/A-3b': () => typstPdf('a-3b', evidence) }
const sign = async (pdf = typstPdf('a-2b'), by = signing.signer): Promise<Buffer> =>
  Buffer.from((await by.sign(pdf, aboutNow())).pdf)

/** As a program signs that looks at nothing. `shown`: the key with the certificate that the document brings. */
async function forge(key: SigningKey, shown = key): Promise<Buffer> {
  const prepared = prepareSignature(typstPdf('a-2b'), { ...aboutNow(), reserve: 8_000 })
  const attributes = signedAttributes(key.certificate, prepared.digest)
  const signature = await key.sign(attributes)
  const forged = Buffer.from(prepared.pdf)
  const written = writeSignedData(shown, { attributes, signature, timeStamp: null })
  forged.write(written.toString('hex'), prepared.place.start, 'latin1')
  return forged
}

describe('a signed document', () => {
  test.each(Object.entries(files))('of %s holds, over the whole file, with a time-stamp', async (_, make) => {
    const pdf = make()
    const about = aboutNow()
    const signed = await signing.signer.sign(pdf, about)
    expect(signed.level).toBe('B-T')
    expect(Buffer.from(signed.pdf).subarray(0, pdf.length)).toEqual(pdf)
    const verdict = verifyPdf(signed.pdf)
    expect(verdict).toMatchObject({ valid: true, fault: null, bytesAfter: 0 })
    const checks = {
      range: true,
      digest: true,
      signature: true,
      certificateReference: true,
      certificateValidity: true,
      timeStamp: true,
    }
    const [signature] = verdict.signatures
    expect(signature).toMatchObject({ level: 'B-T', reason: about.reason, checks, covers: { wholeFile: true }, fault: null })
    expect(signature!.statedAt).toEqual(new Date(Math.floor(about.at.getTime() / 1_000) * 1_000))
    expect(signature!.certificate).toMatchObject({ subject: 'CN=empresa, O=Teste, C=BR', icpBrasil: false, selfSigned: false })
    expect(signature!.certificate!.pem).toEqual(signing.signer.certificate.pem)
    expect(Math.abs(signature!.timeStamp!.at.getTime() - about.at.getTime())).toBeLessThan(600_000)
    expect(signing.failures.at(-1)).toContain(new URL(signing.down).host)
  })

  test('has a CAdES signature that openssl verifies, with its reference to the certificate', async () => {
    const pdf = await sign()
    const at = pdf.lastIndexOf('/ByteRange')
    const [, start, end, rest] = /\[(\d+) (\d+) (\d+) (\d+)\]/.exec(pdf.toString('latin1', at))!.slice(1).map(Number)
    const { certification } = signing
    const path = (name: string): string => join(certification.folder, name)
    writeFileSync(path('cms'), Buffer.from(pdf.toString('latin1', start! + 1, end! - 1), 'hex'))
    writeFileSync(path('content'), Buffer.concat([pdf.subarray(0, start), pdf.subarray(end)]))
    expect(end! + rest!).toBe(pdf.length)
    const args = ['-cades', '-binary', '-inform', 'DER', '-in', 'cms', '-content', 'content', '-CAfile', certification.caFile]
    expect(certification.openssl('cms', '-verify', ...args, '-purpose', 'any', '-out', 'verified')).toBeDefined()
    expect(readFileSync(path('verified'))).toEqual(readFileSync(path('content')))
  })

  test('is B-B, and says so, where no authority answers', async () => {
    for (const authorities of [[], [signing.down]]) {
      const signed = await signing.signerWith(signing.key, authorities).sign(typstPdf('a-2b'), aboutNow())
      expect(signed.level).toBe('B-B')
      expect(verifyPdf(signed.pdf)).toMatchObject({ valid: true, signatures: [{ level: 'B-B', timeStamp: null }] })
    }
  })

  test('can be signed with a key of an elliptic curve', async () => {
    const pdf = await sign(typstPdf('a-2b'), signing.signerWith(signing.issueKey({ name: 'curva' }), []))
    expect(verifyPdf(pdf)).toMatchObject({ valid: true })
  })

  test('has room for a time-stamp larger than usual', async () => {
    const huge = signing.signerStampedBy(async () =>
      Buffer.concat([Buffer.from('3082', 'hex'), Buffer.from([0x50, 0x00]), Buffer.alloc(0x5000)]),
    )
    const { pdf } = await huge.sign(typstPdf('a-2b'), aboutNow())
    expect(verifyPdf(pdf).signatures[0]).toMatchObject({ checks: { digest: true, signature: true, timeStamp: false } })
  })

  test('may be signed again: both signatures hold, each over its revision', async () => {
    const twice = await sign(await sign(files['PDF/A-3b']()))
    const { valid, signatures } = verifyPdf(twice)
    expect(valid).toBe(true)
    expect(signatures.map(({ field, covers }) => [field, covers!.wholeFile])).toEqual([
      ['Assinatura1', false],
      ['Assinatura2', true],
    ])
  })

  test('that is no PDF is refused in words', async () => {
    await expect(signing.signer.sign(Buffer.from('não'), aboutNow())).rejects.toThrow(
      new SignatureFault('O arquivo não é um PDF.'),
    )
  })
})

describe('a changed document', () => {
  test('by one bit anywhere in what is signed is invalid, in words', async () => {
    const pdf = await sign()
    const [start, end] = gapOf(pdf)
    const random = seeded(7)
    const signed = Array.from({ length: 120 }, () => Math.floor(random() * (pdf.length - (end - start)))).map(at =>
      at < start ? at : at + end - start,
    )
    for (const at of [0, start - 1, end, pdf.length - 1, ...signed]) {
      const verdict = verifyPdf(flipped(pdf, at))
      expect(verdict.valid, `byte ${at}`).toBe(false)
      expect(verdict.fault).toMatch(/^[A-ZÀ-Ú].*\.$/)
    }
    const content = pdf.indexOf('FlateDecode') + 100
    expect(verifyPdf(flipped(pdf, content)).fault).toMatch(/o resumo \(hash\) não confere/)
  })

  test('by a digit of the signature is invalid, or the same signature', async () => {
    const pdf = await sign()
    const [start, end] = gapOf(pdf)
    const [facts] = verifyPdf(pdf).signatures
    const random = seeded(11)
    const faults = new Set<string | null>()
    for (let count = 0; count < 150; count++) {
      const { valid, fault, signatures } = verifyPdf(flipped(pdf, start + Math.floor(random() * (end - start))))
      faults.add(fault)
      // Certificates of issuers and versions of the structure are not signed; what the signature says must not change.
      if (!valid) continue
      expect(signatures[0]!.certificate!.sha256).toBe(facts!.certificate!.sha256)
      expect(signatures[0]!.timeStamp!.at).toEqual(facts!.timeStamp!.at)
    }
    expect(faults.size).toBeGreaterThan(3)
  })

  test('by what is added after the signature says how many bytes nobody signed', async () => {
    const pdf = await sign()
    const added = Buffer.concat([pdf, Buffer.from('% mais\n')])
    expect(verifyPdf(added)).toMatchObject({ valid: false, bytesAfter: 7 })
    expect(verifyPdf(added).fault).toMatch(/há 7 bytes que ninguém assinou/)
    // An update with a page of its own, as a forger appends it: the signature still holds, over its revision alone.
    const update = Buffer.from(prepareSignature(pdf, { ...aboutNow(), reserve: 10 }).pdf)
    expect(verifyPdf(update)).toMatchObject({ valid: false })
    expect(verifyPdf(update).signatures[0]).toMatchObject({ fault: null, covers: { end: pdf.length, wholeFile: false } })
  })

  test('by a revision that somebody else signed is not the first signer’s document', async () => {
    const forged = await sign(await sign(), signing.signerWith(signing.issueKey({ name: 'estranho' }), []))
    const { valid, fault, signatures } = verifyPdf(forged)
    expect(signatures.map(signature => signature.fault)).toEqual([null, null])
    expect(valid).toBe(false)
    expect(fault).toMatch(/certificados diferentes/)
  })

  test('whose signature leaves out more than itself is found', async () => {
    const { pdf, place } = prepareSignature(typstPdf('a-2b'), { ...aboutNow(), reserve: 4_000 })
    const bytes = Buffer.from(pdf)
    const range = bytes.lastIndexOf('/ByteRange') + 11
    const text = bytes.toString('latin1', range, range + 48)
    for (const wrong of [
      `[0 ${place.start - 1} ${place.end + 1} 5]`,
      `[0 ${place.start - 21} ${place.end + 1} ${bytes.length - place.end - 1}]`,
      `[0 ${place.start - 1} ${place.end + 21} ${bytes.length - place.end - 21}]`,
      `[9 ${place.start - 10} ${place.end + 1} ${bytes.length - place.end - 1}]`,
      '[0 1]',
      '[]',
    ]) {
      const changed = Buffer.from(bytes)
      changed.write(wrong.padEnd(text.length), range, 'latin1')
      const { valid, signatures } = verifyPdf(changed)
      expect(valid).toBe(false)
      if (!wrong.endsWith(' 5]')) expect(signatures[0]!.fault).toMatch(/não cobre os bytes/)
    }
  })

  test('with another certificate of the same key is found by the reference to the certificate', async () => {
    const { certification, key: rsa } = signing
    const { folder } = certification
    certification.openssl(
      'req',
      '-new',
      '-x509',
      '-key',
      'empresa.key',
      '-subj',
      '/CN=Outra pessoa',
      '-out',
      'outra.pem',
      '-utf8',
    )
    const other = { ...rsa, certificate: readCertificate(readFileSync(join(folder, 'outra.pem'))) }
    expect(verifyPdf(await forge(rsa, other)).fault).toBe('O certificado não é o que a assinatura diz ter usado.')
  })

  test('with the time-stamp of another signature is found', async () => {
    const stolen = await firstTimeStamp([signing.authority.url], Buffer.alloc(32, 1), () => {})
    const forger = signing.signerStampedBy(async () => stolen)
    expect(verifyPdf(await sign(typstPdf('a-2b'), forger)).fault).toBe('O carimbo do tempo é de outro conteúdo.')
  })

  test('signed when the certificate was not valid is found', async () => {
    const expired = signing.issueKey({ name: 'vencido', days: -1 })
    expect(verifyPdf(await forge(expired)).fault).toMatch(/^Quando a assinatura foi feita, o certificado não valia: /)
  })

  test('without any signature says so', () => {
    expect(verifyPdf(typstPdf('a-2b'))).toMatchObject({ valid: false, fault: 'O PDF não tem assinatura.', bytesAfter: null })
  })
})

describe('files inside a document', () => {
  test('are read as they were put in', async () => {
    const signed = await sign(files['PDF/A-3b']())
    expect(embeddedFiles(signed)).toEqual([{ name: 'evidencia.zip', bytes: evidence }])
  })

  test('need not be there', () => {
    expect(embeddedFiles(typstPdf('a-2b'))).toEqual([])
  })
})

describe('damage of any kind', () => {
  test('gives a verdict in words, never another error', async () => {
    const pdf = await sign(files['PDF/A-3b']())
    fc.assert(
      fc.property(damagedPdf(pdf), damaged => expectVerdict(damaged, pdf)),
      { numRuns: 500 },
    )
  })

  test('that leads in circles or to the same place again and again ends', () => {
    const object = (number: number, body: string): string => `${number} 0 obj\n${body}\nendobj\n`
    const build = (bodies: readonly string[], trailer = ''): Buffer => {
      let text = '%PDF-1.7\n'
      const places = bodies.map((body, index) => {
        const at = text.length
        text += object(index + 1, body)
        return `${String(at).padStart(10, '0')} 00000 n \n`
      })
      const at = text.length
      text += `xref\n0 ${bodies.length + 1}\n0000000000 65535 f \n${places.join('')}trailer\n<</Root 1 0 R /Size 9 ${trailer}>>\nstartxref\n${at}\n%%EOF\n`
      return Buffer.from(text.replaceAll('SELF', String(at)))
    }
    const circles = [
      build(['<</AcroForm <</Fields [2 0 R]>> >>', '<</T (a) /Kids [2 0 R 3 0 R]>>', '<</T (b) /Kids [2 0 R 3 0 R]>>']),
      build(['<<>>'], '/Prev SELF'),
      build(['2 0 R', '3 0 R', '2 0 R']),
      build(['<</Names <</EmbeddedFiles 2 0 R>> >>', '<</Kids [2 0 R 2 0 R]>>']),
      build([`<</AcroForm ${'['.repeat(10_000)}${']'.repeat(10_000)} >>`]),
      build(['<</Names <</EmbeddedFiles <</Names [(a) 2 0 R]>> >> >>', '<</EF <</F 3 0 R>> >>', '<</Length 3 0 R>> stream\n']),
    ]
    for (const pdf of circles) expect(verifyPdf(pdf)).toMatchObject({ valid: false })
    for (const pdf of circles) expect(() => embeddedFiles(pdf)).not.toThrow(RangeError)
  })
})
