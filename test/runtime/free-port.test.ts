import { expect, test } from 'vitest'
import { releasePort, reservePort } from '../../src/runtime/free-port.js'

test('a reserved port is given to nobody else before its release', async () => {
  const port = await reservePort()
  await expect(reservePort(port)).rejects.toThrow(String(port))
  releasePort(port)
  expect(await reservePort(port)).toBe(port)
  releasePort(port)
})
