import { randomBytes } from 'node:crypto'
import { linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperatorError } from '../domain/errors.js'
import { deriveKeys, type Keys, MASTER_KEY_BYTES, readMasterKey } from '../domain/keys.js'
import { makeFolders } from '../runtime/folder.js'
import type { Config } from './config.js'

/**
 * The installation's keys: from CARTEIRO_MASTER_KEY, or from a file in the data folder. The file is made on first use, and only
 * for an installation that has no key yet: for any other a new key would be the wrong one.
 */
export function loadKeys({ masterKey, dataFolder }: Config, isNew: boolean): Keys {
  return deriveKeys(masterKey ?? readKeyFile(join(dataFolder, 'master.key'), isNew))
}

function readKeyFile(path: string, isNew: boolean): Buffer {
  try {
    const key = readMasterKey(readFileSync(path, 'utf8').trim())
    const problem = `${path} não contém uma chave mestra (64 dígitos hexadecimais). Restaure-a da sua cópia de segurança.`
    if (key === null) throw new OperatorError(problem)
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  if (!isNew)
    throw new OperatorError(
      `Este banco já tem uma chave mestra, e ${path} não existe. Defina CARTEIRO_MASTER_KEY ou restaure o arquivo da sua cópia de segurança.`,
    )
  // Written whole under another name, then linked: of two processes that start at once, one wins and both read the same.
  const draft = `${path}.new-${process.pid}`
  makeFolders(dirname(path))
  writeFileSync(draft, `${randomBytes(MASTER_KEY_BYTES).toString('hex')}\n`, { mode: 0o600 })
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readKeyFile(path, isNew)
}
