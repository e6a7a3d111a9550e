import { expect, test } from 'vitest'
import { Refusal, type RefusalCode } from '../../../src/domain/errors.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { readAttachments } from '../../../src/domain/send/attachment.js'
import fc from '../../support/generated.js'

const limits = { maxFiles: 3, maxFileBytes: 10, maxTotalBytes: 25 }
const file = (text: string, name = 'contrato.pdf') => ({ name, base64: Buffer.from(text).toString('base64') })

function refusal(files: { name: string; base64: string }[]): { code: RefusalCode; message: string } {
  try {
    readAttachments(files, limits)
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('accepted')
}

test('a file is its name, its bytes and the hash of its bytes', () => {
  expect(readAttachments([{ name: 'olá.txt', base64: 'YWJj' }], limits)).toEqual([
    {
      name: 'olá.txt',
      bytes: new Uint8Array([0x61, 0x62, 0x63]),
      sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    },
  ])
})

test.each([
  ['no padding needed', 'YWJj', 'abc'],
  ['one padding character', 'YWI=', 'ab'],
  ['two padding characters', 'YQ==', 'a'],
  ['line breaks every few characters', 'YW\r\nJj\r\n', 'abc'],
  ['bare line feeds, tabs and spaces', ' Y\nW\tJ j\n', 'abc'],
  ['+ and /', '+/+/', Buffer.from('+/+/', 'base64').toString('latin1')],
])('base64 with %s decodes', (_, base64, text) => {
  const [read] = readAttachments([{ name: 'a', base64 }], limits)
  expect(Buffer.from(read!.bytes).toString('latin1')).toBe(text)
})

test.each([
  ['missing padding', 'YQ'],
  ['half the padding', 'YQ='],
  ['too much padding', 'YWJj===='],
  ['padding in the middle', 'YQ==YQ=='],
  ['padding alone', '===='],
  ['one character', 'Y'],
  ['the URL-safe alphabet', '-_-_'],
  ['a character outside the alphabet', 'YW*j'],
  ['a letter with an accent', 'YWJã'],
  ['nothing but line breaks', '\r\n\r\n'],
  ['a no-break space', 'YW\u00a0Jj'],
  ['a quoted-printable line', '=3D=3D=3D'],
])('base64 with %s is refused, with its field', (_, base64) => {
  expect(refusal([file('a'), { name: 'b', base64 }])).toEqual({
    code: 'badBase64',
    message: expect.stringContaining('attachments[1].base64'),
  })
})

test.each(['data:application/pdf;base64,YWJj', 'DATA:;base64,YWJj', ' data:text/plain,abc'])(
  'the prefix of %s is refused with a message that says so',
  base64 => {
    const { code, message } = refusal([{ name: 'a', base64 }])
    expect(code).toBe('dataPrefix')
    expect(message).toContain('data:')
    expect(message).toContain('attachments[0].base64')
  },
)

test.each([
  ['a path', 'docs/contrato.pdf'],
  ['a path upwards', '../../etc/passwd'],
  ['an absolute path', '/etc/passwd'],
  ['a Windows path', 'C:\\contrato.pdf'],
  ['a dot', '.'],
  ['two dots', '..'],
  ['a line break', 'contrato.pdf\r\nX-Header: 1'],
  ['NUL', 'contrato.pdf\0.exe'],
  ['a right-to-left override', 'contrato\u202efdp.exe'],
  ['an isolate', 'contrato\u2066fdp.exe'],
  ['a line separator', 'contrato\u2028.pdf'],
  ['256 characters', 'a'.repeat(256)],
])('a name with %s is refused, with its field', (_, name) => {
  expect(refusal([file('a', name)])).toEqual({ code: 'badFileName', message: expect.stringContaining('attachments[0].name') })
})

test.each(['contrato.pdf', '.bashrc', '...', 'João & Maria (2ª via).pdf', '📄.pdf', 'a'.repeat(255), '📄'.repeat(255)])(
  'a name such as %s is kept as it is',
  name => {
    expect(readAttachments([file('a', name)], limits)[0]!.name).toBe(name)
  },
)

test('as many files, and as many bytes, as the limits say pass; one more does not', () => {
  const ten = file('0123456789')
  expect(readAttachments([ten, ten, file('01234')], limits)).toHaveLength(3)
  expect(refusal([ten, ten, file('012345')])).toMatchObject({ code: 'filesTooLarge' })
  expect(refusal([file('0123456789a')])).toEqual({
    code: 'fileTooLarge',
    message: expect.stringContaining('attachments[0].base64'),
  })
  expect(refusal([file('a'), file('a'), file('a'), file('a')])).toEqual({
    code: 'tooManyFiles',
    message: expect.stringContaining('3'),
  })
})

test('any bytes come out as they went in, each file in a buffer of its own', () => {
  const generous = { maxFiles: 10, maxFileBytes: 1_000, maxTotalBytes: 10_000 }
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 5 }), contents => {
      const read = readAttachments(
        contents.map(bytes => ({ name: 'a', base64: Buffer.from(bytes).toString('base64') })),
        generous,
      )
      expect(read.map(one => [...one.bytes])).toEqual(contents.map(bytes => [...bytes]))
      expect(read.map(one => one.sha256)).toEqual(contents.map(sha256))
      for (const one of read) expect(one.bytes.buffer.byteLength).toBe(one.bytes.length)
    }),
  )
})
