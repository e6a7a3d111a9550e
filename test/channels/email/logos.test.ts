import { expect, test } from 'vitest'
import { createLogos } from '../../../src/channels/email/logos.js'
import { logoPath } from '../../../src/domain/send/logo.js'

const png = (width: number, height: number): Buffer => {
  const bytes = Buffer.from(`89504e470d0a1a0a0000000d49484452${'00'.repeat(8)}`, 'hex')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const logo = (bytes: Buffer) => ({ sha256: 'ab', type: 'image/png', bytes })

test.each([
  ['a square', png(512, 512), { width: 44, height: 44 }],
  ['a wide one', png(1400, 100), { width: 140, height: 10 }],
  ['a small one', png(20, 10), { width: 88, height: 44 }],
])('%s is shown as large as fits beside the name', async (_, bytes, size) => {
  const find = createLogos({ read: async () => logo(bytes) })
  expect(await find('a')).toEqual({ path: logoPath('ab'), ...size })
})

test('an SVG, which most mail programs do not show, and no logo at all leave the first letter of the name', async () => {
  const find = createLogos({ read: async account => (account === 'svg' ? logo(Buffer.from('<svg/>')) : null) })
  expect([await find('svg'), await find('none')]).toEqual([null, null])
})

test('an account is asked for once while its logo is fresh; a failure is not kept', async () => {
  const asked: string[] = []
  let fails = true
  const find = createLogos({
    read: async account => {
      asked.push(account)
      if (fails) throw new Error('down')
      return logo(png(44, 44))
    },
  })
  await expect(find('a')).rejects.toThrow('down')
  fails = false
  await Promise.all([find('a'), find('a'), find('b')])
  await find('a')
  expect(asked).toEqual(['a', 'a', 'b'])
})

test('a logo that is too old is asked for again', async () => {
  let asked = 0
  const find = createLogos({
    maxAgeMs: 0,
    read: async () => {
      asked++
      return null
    },
  })
  await find('a')
  await find('a')
  expect(asked).toBe(2)
})
