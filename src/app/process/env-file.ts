import { existsSync, readFileSync } from 'node:fs'
import { OperatorError } from '../../domain/errors.js'

/** A value without quotes in which a # follows another character. After a blank, it begins a comment. */
const CUT = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*[^\s"'`#](?:[^#\n]*\S)?#/m

/** Loads a file of settings, if there is one. Node ends a value without quotes at a #, and the lost end may be a secret or a region: such a file is refused. */
export function loadEnvFile(path: string): void {
  if (!existsSync(path)) return
  const name = CUT.exec(readSettings(path))?.[1]
  if (name !== undefined)
    throw new OperatorError(`${path}: ponha o valor de ${name} entre aspas; sem elas, o que vem depois do # se perderia.`)
  process.loadEnvFile(path)
}

function readSettings(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new OperatorError(
      `Não foi possível ler ${path} (${code}). Deve ser um arquivo que este usuário possa ler: corrija a permissão, ou rode o comando em outra pasta.`,
      { cause },
    )
  }
}
