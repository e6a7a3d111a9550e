import { existsSync, readFileSync } from 'node:fs'
import { OperatorError } from '../domain/errors.js'

/** A value without quotes in which a # follows another character. After a blank, it begins a comment. */
const CUT = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*[^\s"'`#](?:[^#\n]*\S)?#/m

/** Loads a file of settings, if it exists. Node ends a value without quotes at a #, and what would be lost may be a secret or a region: it is refused. */
export function loadEnvFile(path: string): void {
  if (!existsSync(path)) return
  const name = CUT.exec(readFileSync(path, 'utf8'))?.[1]
  if (name !== undefined)
    throw new OperatorError(`${path}: ponha o valor de ${name} entre aspas; sem elas, o que vem depois do # se perderia.`)
  process.loadEnvFile(path)
}
