import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, opendir, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../folder.js'
import { type ListedObject, type ObjectStore, ObjectStoreFault } from './object-store.js'

/** The group may read: the api and the worker may run as different users. */
const FILE_MODE = 0o640
const FOLDER_MODE = 0o750
const LIST_BATCH = 1_000

/**
 * Objects as files of a folder, which may be a network file system that several machines share. The folder itself is never created: one
 * that is missing is a disk that is not mounted, and files would be written under its mount point.
 */
export function openFolder(root: string): ObjectStore {
  const pathOf = (object: string): string => join(root, object)
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      throw await explain(root, error)
    }
  }
  return {
    name: `file://${root}`,
    put: (object, bytes) => explained(putFile(root, pathOf(object), bytes)),
    read: (object, from, length) => explained(readPart(root, pathOf(object), from, length)),
    delete: object => explained(removeFile(root, pathOf(object))),
    async *list(folder) {
      try {
        yield* listFiles(root, folder)
      } catch (error) {
        throw await explain(root, error)
      }
    },
    listFolders: () => explained(listFolders(root)),
  }
}

const listFolders = async (root: string): Promise<string[]> =>
  (await readdir(root, { withFileTypes: true })).filter(found => found.isDirectory()).map(({ name }) => name)

/** Under another name until it is whole, and on the disk before anything refers to it. */
async function putFile(root: string, path: string, bytes: Uint8Array): Promise<void> {
  await makeFolder(root, dirname(path))
  const draft = `${path}.${randomBytes(4).toString('hex')}.part`
  try {
    const file = await open(draft, 'wx', FILE_MODE)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw error
  }
  await syncFolder(dirname(path))
}

/** The folders between the root and an object. A new one survives a crash once the folder above it is on the disk. */
async function makeFolder(root: string, path: string): Promise<void> {
  if (path === root || (await isThere(path))) return
  await makeFolder(root, dirname(path))
  await mkdir(path, FOLDER_MODE).catch(ignore('EEXIST'))
  await syncFolder(dirname(path))
}

async function readPart(root: string, path: string, from: number, length: number): Promise<Buffer | null> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && (await isThere(root))) return null
    throw error
  }
  try {
    const bytes = Buffer.alloc(length)
    let filled = 0
    while (filled < length) {
      const { bytesRead } = await file.read(bytes, filled, length - filled, from + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return bytes.subarray(0, filled)
  } finally {
    await file.close()
  }
}

/** Without the root nothing is deleted for sure: the disk may only be away. */
async function removeFile(root: string, path: string): Promise<void> {
  await rm(path, { force: true })
  await stat(root)
}

async function* listFiles(root: string, folder: string): AsyncGenerator<ListedObject[]> {
  const deletedSince = async (error: unknown): Promise<null> => {
    if (codeOf(error) === 'ENOENT' && (await isThere(root))) return null
    throw error
  }
  const parts = (await readdir(join(root, folder), { withFileTypes: true }).catch(deletedSince)) ?? []
  for (const part of parts.filter(found => found.isDirectory()).map(({ name }) => `${folder}/${name}`)) {
    const entries = await opendir(join(root, part), { bufferSize: 256 }).catch(deletedSince)
    if (entries === null) continue
    let batch: ListedObject[] = []
    for await (const found of entries) {
      const name = `${part}/${found.name}`
      // It may have been deleted since.
      const about = found.isFile() ? await stat(join(root, name)).catch(ignore('ENOENT')) : undefined
      if (about !== undefined) batch.push({ name, size: about.size, modifiedAt: about.mtime })
      if (batch.length < LIST_BATCH) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

const ignore =
  (code: string) =>
  (error: unknown): undefined => {
    if (codeOf(error) !== code) throw error
  }

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    error => {
      if (codeOf(error) !== 'ENOENT') throw error
      return false
    },
  )

const CAUSES: Readonly<Record<string, string>> = {
  EACCES: 'não há permissão: dê a pasta ao usuário do serviço',
  EPERM: 'não há permissão: dê a pasta ao usuário do serviço',
  EROFS: 'o disco é somente leitura: monte-o para escrita',
  ENOSPC: 'o disco está cheio: libere espaço',
  EDQUOT: 'a cota do disco acabou: aumente-a',
  ENOTDIR: 'não é uma pasta',
}

async function explain(root: string, error: unknown): Promise<unknown> {
  const { syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined) return error
  const isMissing = codeOf(error) === 'ENOENT' && !(await isThere(root).catch(() => true))
  const cause = isMissing
    ? 'ela não existe. Crie-a e dê-a ao usuário do serviço; se é de um disco ou volume, confira se está montado'
    : (CAUSES[codeOf(error)] ?? `o sistema respondeu ${codeOf(error)}`)
  return new ObjectStoreFault(`A pasta ${root}: ${cause}.`, { cause: error })
}
