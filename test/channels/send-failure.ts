import { expect } from 'vitest'
import { SendError } from '../../src/channels/provider.js'

/** The error of a send that must fail. */
export async function failureOf(sending: Promise<unknown>): Promise<SendError> {
  const error: unknown = await sending.then(
    () => null,
    thrown => thrown,
  )
  expect(error).toBeInstanceOf(SendError)
  return error as SendError
}
