import { expect, test } from 'vitest'
import { logoType, pictureSize } from '../../../src/domain/send/logo.js'

test.each([
  [Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), 'image/png'],
  [Buffer.from('ffd8ffe000104a464946', 'hex'), 'image/jpeg'],
  [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  [Buffer.from('\uFEFF<?xml version="1.0"?>\n<!-- a --><svg >'), 'image/svg+xml'],
])('%#: the bytes tell what it is', (bytes, type) => {
  expect(logoType(bytes)).toBe(type)
})

test.each(['', 'GIF89a', '<html><svg></svg></html>', '<svgx>', '<!doctype html><svg>', 'PNG', '%PDF-1.4'])(
  '%s is no logo',
  text => {
    expect(logoType(Buffer.from(text))).toBeNull()
  },
)

test('an SVG that is not UTF-8 is no logo', () => {
  expect(logoType(Buffer.concat([Buffer.from('<svg>'), Buffer.from([0xff, 0xfe])]))).toBeNull()
})

const jpeg = (...segments: string[]): Buffer => Buffer.from(`ffd8${segments.join('')}`, 'hex')

test.each([
  ['a PNG', Buffer.from('89504e470d0a1a0a0000000d494844520000012c00000064', 'hex'), { width: 300, height: 100 }],
  ['a JPEG', jpeg('ffe00004abcd', 'ffc00011080064012c03'), { width: 300, height: 100 }],
  [
    'a progressive JPEG with filling and tables before',
    jpeg('ffc40004abcd', 'ffffc20011080064012c03'),
    { width: 300, height: 100 },
  ],
  ['a PNG that is cut', Buffer.from('89504e470d0a1a0a0000000d4948', 'hex'), null],
  ['a JPEG without a frame', jpeg('ffe00004abcd'), null],
  ['a JPEG whose segment says that it has no length', jpeg('ffe00000', '00'.repeat(20)), null],
  ['a picture without area', Buffer.from('89504e470d0a1a0a0000000d494844520000000000000064', 'hex'), null],
  ['an SVG', Buffer.from('<svg width="300" height="100"/>'), null],
])('the size of %s', (_, bytes, size) => {
  expect(pictureSize(bytes)).toEqual(size)
})
