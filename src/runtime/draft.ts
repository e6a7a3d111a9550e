import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { OperatorError } from '../domain/errors.js'

export interface Draft {
  path: string
  handle: FileHandle
  /** Gives it the name of a file that does not exist yet; refused where one does. */
  placeNew(): Promise<void>
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
    async placeNew() {
      // The name is taken first: a rename replaces a file that another process has made meanwhile.
      const taken = await open(file, 'wx', mode).catch((cause: NodeJS.ErrnoException) => {
        throw cause.code === 'EEXIST' ? fileExists(file, cause) : cause
      })
      await taken.close()
      await rename(path, file)
    },
    async remove() {
      await handle.close()
      await rm(path, { force: true })
    },
  }
}

/** Refuses an existing file before a long work writes it. */
export function refuseExisting(file: string): void {
  if (existsSync(file)) throw fileExists(file)
}

const fileExists = (file: string, cause?: unknown): OperatorError =>
  new OperatorError(`O arquivo ${file} já existe: escolha outro nome. Nada foi feito.`, { cause })

/** For an operator who named the file: why it could not be written, with the cure. Any other error stays as it is. */
export function explainWriteFailure(error: unknown, file: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined || !['ENOENT', 'EACCES', 'ENOSPC', 'EROFS', 'EISDIR', 'ENOTDIR'].includes(code ?? '')) return error
  return new OperatorError(`Não foi possível escrever ${file} (${code}). Escolha uma pasta que exista, com espaço e permissão.`, {
    cause: error,
  })
}
