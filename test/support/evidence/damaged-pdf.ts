import type { Arbitrary } from 'fast-check'
import { expect } from 'vitest'
import { SignatureFault } from '../../../src/evidence/signature/fault.js'
import { embeddedFiles } from '../../../src/evidence/signature/pdf/embedded-files.js'
import { verifyPdf } from '../../../src/evidence/signature/pdf/verification.js'
import fc from '../generated.js'
import { gapOf } from './document-signing.js'

/** Words of the format, so that damage reaches deeper than a reader's first look. */
const WORDS = [
  '<<',
  '>>',
  '[',
  ']',
  '(',
  'obj',
  '0 R',
  '99999999',
  '-1',
  '/Kids',
  '/Prev 9',
  'startxref\n0\n',
  'stream',
  '/W [1 9 9]',
]

/** A PDF with one to six places where bytes are cut out and others put in. */
export function damagedPdf(pdf: Buffer): Arbitrary<Buffer> {
  const put = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.constantFrom(...WORDS).map(word => Uint8Array.from(Buffer.from(word))),
  )
  // The end of the file has what a reader starts from.
  const at = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0.95, max: 1, noNaN: true }))
  return fc.array(fc.tuple(at, fc.nat({ max: 60 }), put), { minLength: 1, maxLength: 6 }).map(edits =>
    edits.reduce((damaged, [part, cut, bytes]) => {
      const place = Math.floor(part * damaged.length)
      return Buffer.concat([damaged.subarray(0, place), bytes, damaged.subarray(place + cut)])
    }, pdf),
  )
}

/** Of a damaged document there is a verdict in words, and nothing else is thrown. */
export function expectVerdict(damaged: Buffer, original: Buffer): void {
  const { valid, fault } = verifyPdf(damaged)
  // Only the digits of the signature itself may differ: not all of them are signed.
  const [start, end] = gapOf(original)
  const signed = (pdf: Buffer): Buffer[] => [pdf.subarray(0, start), pdf.subarray(end)]
  if (valid) expect(signed(damaged)).toEqual(signed(original))
  else expect(fault).toMatch(/^[A-ZÀ-Ú].*\.$/)
  try {
    embeddedFiles(damaged)
  } catch (error) {
    expect(error).toBeInstanceOf(SignatureFault)
  }
}
