import { readFile } from 'node:fs/promises'
import { buffer } from 'node:stream/consumers'
import { OperatorError } from '../domain/errors.js'

/** The text of a file, or of the standard input (-), without a byte order mark. In another encoding it would be stored and sent with U+FFFD for its letters. */
export async function readText(file: string): Promise<string> {
  const name = file === '-' ? 'a entrada' : file
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch(cause => {
    throw new OperatorError(`Não foi possível ler ${name}. Confira o caminho e a permissão.`, { cause })
  })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler ${name}: não é texto em UTF-8. Salve o arquivo em UTF-8 e repita.`, { cause })
  }
}
