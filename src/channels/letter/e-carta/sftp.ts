import { createHash } from 'node:crypto'
import { Client, type FileEntry, type SFTPWrapper } from 'ssh2'

export interface SftpAccount {
  host: string
  port: number
  username: string
  privateKey: string | null
  password: string | null
  /** SHA256 fingerprint of the server's key, as ssh-keygen -l prints it, without its prefix. */
  fingerprint: string
}

const CONNECT_TIMEOUT_MS = 10_000
const NO_SUCH_FILE = 2

/** Opens a connection for one piece of work, because the server of Correios closes idle sessions. */
export async function withSftp<T>(account: SftpAccount, signal: AbortSignal, work: (sftp: Sftp) => Promise<T>): Promise<T> {
  const client = new Client()
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('close', () => reject(new Error('the connection was closed')))
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  // A rejection after the work is done has no listener and would end the process.
  broken.catch(() => {})
  try {
    const sftp = await Promise.race([open(client, account), broken])
    return await Promise.race([work(sftp), broken])
  } finally {
    client.end()
    client.destroy()
  }
}

function open(client: Client, { privateKey, password, fingerprint, ...server }: SftpAccount): Promise<Sftp> {
  return new Promise((resolve, reject) => {
    client.on('ready', () => client.sftp((error, session) => (error ? reject(error) : resolve(wrap(session)))))
    client.connect({
      ...server,
      readyTimeout: CONNECT_TIMEOUT_MS,
      keepaliveInterval: 5_000,
      ...(privateKey === null ? {} : { privateKey }),
      ...(password === null ? {} : { password }),
      hostVerifier: (key: Buffer) => createHash('sha256').update(key).digest('base64').replace(/=+$/, '') === fingerprint,
    })
  })
}

export interface ListedFile {
  name: string
  size: number
  /** In milliseconds, by the clock of the server. */
  modifiedAt: number
}

export type Sftp = ReturnType<typeof wrap>

function wrap(session: SFTPWrapper) {
  const call = <T>(start: (done: (error: Error | null | undefined, value?: T) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => start((error, value) => (error ? reject(error) : resolve(value as T))))
  return {
    list: async (folder: string): Promise<ListedFile[]> =>
      (await call<FileEntry[]>(done => session.readdir(folder, done))).map(({ filename, attrs: { size, mtime } }) => ({
        name: filename,
        size,
        modifiedAt: mtime * 1_000,
      })),
    read: (path: string) => call<Buffer>(done => session.readFile(path, done)),
    write: (path: string, bytes: Uint8Array) => call<void>(done => session.writeFile(path, Buffer.from(bytes), done)),
    /** null: there is no such file. */
    size: async (path: string) => (await nullIfMissing(call<{ size: number }>(done => session.stat(path, done))))?.size ?? null,
    /** Fails when the target exists. false: there is no such file, or no folder for the target. */
    move: async (from: string, to: string) =>
      (await nullIfMissing(call<true>(done => session.rename(from, to, error => done(error, true))))) ?? false,
    remove: (path: string) => call<void>(done => session.unlink(path, done)),
  }
}

/** null: there is no such file. Other errors are thrown. */
const nullIfMissing = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch(error => {
    if ((error as { code?: number }).code === NO_SUCH_FILE) return null
    throw error
  })
