import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { seal, unseal } from '../domain/access/sealed.js'
import { OperatorError } from '../domain/errors.js'
import { takeRandom } from '../domain/random.js'
import { findLogKey, insertLogKey } from '../store/evidence/log-keys.js'
import type { Queryable } from '../store/postgres.js'
import type { SealedValues } from '../store/sealed-values.js'
import { makeVerifier } from './note.js'

/** The key that signs checkpoints and the manifests of bundles. */
export interface LogKey {
  /** The log's name: the first line of every checkpoint. */
  origin: string
  privateKey: KeyObject
  /** The public key in the form of signed notes. */
  vkey: string
}

export const sealedLogKey: SealedValues = {
  table: 'log_key',
  column: 'private_key',
  id: 'origin',
  contextOf: origin => contextOf(origin),
}

const contextOf = (origin: string): string => `log ${origin}`

/** Made on the first start; the origin names the site of that moment and stays for ever. */
export async function openLogKey(db: Queryable, sealing: Buffer, publicUrl: string): Promise<LogKey> {
  return (await readLogKey(db, sealing)) ?? (await createLogKey(db, sealing, publicUrl))
}

async function createLogKey(db: Queryable, sealing: Buffer, publicUrl: string): Promise<LogKey> {
  const origin = `${new URL(publicUrl).hostname.replace(/^\[|\]$/g, '')}/carteiro/${takeRandom(4).toString('hex')}`
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  await insertLogKey(db, {
    origin,
    privateKey: seal(sealing, Buffer.from(pem), contextOf(origin)),
    vkey: makeVerifier(origin, publicKey).vkey,
  })
  // Of two nodes that start at once, both use the key of the first.
  return (await readLogKey(db, sealing))!
}

/** null: no worker has run yet. */
export async function readLogKey(db: Queryable, sealing: Buffer): Promise<LogKey | null> {
  const row = await findLogKey(db)
  if (row === null) return null
  try {
    return {
      origin: row.origin,
      privateKey: createPrivateKey(unseal(sealing, row.privateKey, contextOf(row.origin))),
      vkey: row.vkey,
    }
  } catch (cause) {
    throw new OperatorError(
      `A chave do registro de eventos (${row.origin}) foi alterada no banco e não abre. Restaure a tabela log_key da sua cópia de segurança: os checkpoints que já saíram só conferem com ela.`,
      { cause },
    )
  }
}
