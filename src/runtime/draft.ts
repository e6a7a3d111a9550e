import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { OperatorError } from '../domain/errors.js'

export interface Draft {
  path: string
  handle: FileHandle
  /** Nothing is removed if it has been renamed. */
  remove(): Promise<void>
}

/** Opens a new file beside another one, for its contents until they are whole. Each writer of the same file has its own. */
export async function openDraft(file: string, mode: number): Promise<Draft> {
  const path = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.part`
  const handle = await open(path, 'wx', mode)
  return {
    path,
    handle,
    async remove() {
      await handle.close()
      await rm(path, { force: true })
    },
  }
}

/** For an operator who named the file: why it could not be written, with the cure. Any other error stays as it is. */
export function explainWriteFailure(error: unknown, file: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined || !['ENOENT', 'EACCES', 'ENOSPC', 'EROFS', 'EISDIR', 'ENOTDIR'].includes(code ?? '')) return error
  return new OperatorError(`Não foi possível escrever ${file} (${code}). Escolha uma pasta que exista, com espaço e permissão.`, {
    cause: error,
  })
}
