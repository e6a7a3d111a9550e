import { expect, test } from 'vitest'
import { logoType } from '../../src/domain/logo.js'

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
