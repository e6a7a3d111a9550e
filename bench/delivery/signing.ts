import { generateKeyPairSync, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Workspace } from '../support/workspace.js'
import { SENDER } from './message.js'

/** Keys that everybody signs with, and how fast this machine can do it at all. */
export interface SigningKey {
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
  file: string
  domain: string
  selector: string
}

export function makeSigningKey(workspace: Workspace, algorithm: SigningKey['algorithm']): SigningKey {
  const { privateKey } =
    algorithm === 'rsa-sha256' ? generateKeyPairSync('rsa', { modulusLength: 2048 }) : generateKeyPairSync('ed25519')
  const file = join(workspace.folder('keys'), `${algorithm}.pem`)
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o644 })
  return { algorithm, file, domain: SENDER.slice(SENDER.indexOf('@') + 1), selector: 'bench' }
}

/** RSA-2048 signatures that one processor makes in a second while it does nothing else. */
export function bareSignatures(seconds: number): number {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const data = Buffer.alloc(1_000, 1)
  const start = performance.now()
  let count = 0
  while (performance.now() - start < seconds * 1000) {
    sign('sha256', data, privateKey)
    count++
  }
  return (count * 1000) / (performance.now() - start)
}
