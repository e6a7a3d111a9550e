import type { FastifyRequest } from 'fastify'
import { isSameSecret } from '../src/domain/access/secret.js'
import { SimulatorError } from './simulator-error.js'

/**
 * The key that a simulator and its gateway share for one start. It is the password of every simulated carrier that speaks HTTP:
 * another program on this machine must not make the carriers sign callbacks.
 */
export const isGatewayKey = (given: string | undefined, key: string): boolean => given !== undefined && isSameSecret(given, key)

export function requireGateway({ headers }: FastifyRequest, key: string): void {
  if (isGatewayKey(headers.authorization, `Bearer ${key}`)) return
  throw new SimulatorError(
    401,
    'Só o gateway deste simulador pode pedir isto: defina nele SIMULATOR_KEY com a chave do simulador.',
  )
}
