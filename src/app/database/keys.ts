import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { deriveKeys, type Keys, MASTER_KEY_BYTES, readMasterKey, sealingOf } from '../../domain/access/keys.js'
import { OperatorError } from '../../domain/errors.js'
import { makeFolders, syncFolderNow } from '../../runtime/folder.js'
import type { Config } from '../config.js'

/**
 * The installation's keys: from CARTEIRO_MASTER_KEY, or from a file in the data folder. The file is made on first use, and only
 * for an installation that has no key yet: for any other a new key would be the wrong one.
 */
export function loadKeys(config: Config, isNew: boolean, fingerprint: string | null = null): Keys {
  const own = deriveKeys(loadMasterKey(config, isNew))
  return fingerprint === null ? own : (findKeys(config, fingerprint) ?? own)
}

/**
 * While the master key is rotated there are two, and values under each: the keys open both, and seal with the one that the database names.
 * null: neither is that one.
 */
export function findKeys(config: Config, fingerprint: string): Keys | null {
  // The next one first: it takes the place of the other when a rotation ends, and would be missed in between.
  const next = readNextKey(config)
  const own = loadMasterKey(config, false)
  const pairs = next === null ? [[own, own] as const] : [[own, next] as const, [next, own] as const]
  const known = pairs.map(([master, other]) => deriveKeys(master, undefined, sealingOf(master, other)))
  return known.find(keys => keys.fingerprint === fingerprint) ?? null
}

const loadMasterKey = ({ masterKey, dataFolder }: Pick<Config, 'masterKey' | 'dataFolder'>, isNew: boolean): Buffer =>
  masterKey ?? readKeyFile(join(dataFolder, KEY_FILE), isNew)

const KEY_FILE = 'master.key'
const NEXT_KEY_FILE = 'master.key.next'

/** The key that a rotation is about to bring, or has just brought; null: there is none. */
export function readNextKey({ masterKey, nextMasterKey, dataFolder }: Config): Buffer | null {
  if (nextMasterKey !== null || masterKey !== null) return nextMasterKey
  const path = join(dataFolder, NEXT_KEY_FILE)
  return existsSync(path) ? readKeyFile(path, false) : null
}

/** Where the key is a file: the next one is beside it, for every process of this machine to read before it counts. */
export function makeNextKey(config: Config): Buffer {
  const path = join(config.dataFolder, NEXT_KEY_FILE)
  if (config.masterKey === null && config.nextMasterKey === null) placeKeyFile(path, randomBytes(MASTER_KEY_BYTES))
  const next = readNextKey(config)
  if (next === null)
    throw new OperatorError(
      'Defina CARTEIRO_NEXT_MASTER_KEY com a chave nova em todos os nós, reinicie-os um a um, e repita. Veja "Troca da chave mestra" em docs/operacao.md.',
    )
  return next
}

/** Once the database counts on it. A crash before this leaves both files, of which either start finds the right one. */
export function adoptNextKey({ masterKey, nextMasterKey, dataFolder }: Config, next: Buffer): void {
  if (masterKey !== null || nextMasterKey !== null) return
  const path = join(dataFolder, KEY_FILE)
  // Another command may have ended the same rotation. A next key that is there then belongs to a later one.
  const isAdopted = (): boolean => readKeyFile(path, false).equals(next)
  try {
    if (!isAdopted()) renameSync(join(dataFolder, NEXT_KEY_FILE), path)
  } catch (error) {
    if (!isAdopted()) throw error
  }
  syncFolderNow(dataFolder)
}

/** Puts the key of a backup in its place. Another key that is there already stays, and is refused. */
export function keepMasterKey(config: Config, restored: Buffer): void {
  if (config.masterKey === null) placeKeyFile(join(config.dataFolder, KEY_FILE), restored)
  refuseOtherMasterKey(config, restored)
}

/** A key that a start made by itself is refused as well: only a person knows that nothing needs it. */
export function refuseOtherMasterKey({ masterKey, dataFolder }: Config, restored: Buffer): void {
  const path = join(dataFolder, KEY_FILE)
  if (masterKey === null && !existsSync(path)) return
  if (loadMasterKey({ masterKey, dataFolder }, false).equals(restored)) return
  throw new OperatorError(
    masterKey === null
      ? `${path} tem outra chave mestra, e a cópia só abre com a dela. Guarde esse arquivo com outro nome (mv ${path} ${path}.anterior) e repita. Nada foi restaurado.`
      : 'CARTEIRO_MASTER_KEY tem outra chave mestra, e a cópia só abre com a dela. Ponha a chave da cópia no lugar dela, ou retire-a, e repita. Nada foi restaurado.',
  )
}

function readKeyFile(path: string, isNew: boolean): Buffer {
  try {
    const key = readMasterKey(readFileSync(path, 'utf8').trim())
    const problem = `${path} não contém uma chave mestra (64 dígitos hexadecimais). Restaure-a da sua cópia de segurança.`
    if (key === null) throw new OperatorError(problem)
    // Another process may have made it just now, and the database is about to count on it.
    if (isNew) syncFolderNow(dirname(path))
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  if (!isNew)
    throw new OperatorError(
      `Este banco já tem uma chave mestra, e ${path} não existe. Defina CARTEIRO_MASTER_KEY ou restaure o arquivo da sua cópia de segurança.`,
    )
  placeKeyFile(path, randomBytes(MASTER_KEY_BYTES))
  return readKeyFile(path, isNew)
}

/**
 * Written whole under another name, then linked: of two processes that start at once, one wins and both read the same. It is on the disk
 * before anything is sealed with it: what the database commits survives a power failure, and would never open again without its key.
 */
function placeKeyFile(path: string, key: Buffer): void {
  const draft = `${path}.new-${process.pid}`
  makeFolders(dirname(path))
  const file = openSync(draft, 'w', 0o600)
  try {
    writeFileSync(file, `${key.toString('hex')}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  // Also where the file was there: the process that made it may have been interrupted before this.
  syncFolderNow(dirname(path))
}
