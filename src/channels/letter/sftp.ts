import { createHash, randomUUID } from 'node:crypto'
import { Client, type ConnectConfig, type SFTPWrapper } from 'ssh2'

/** A folder on another machine, over SFTP. */
export interface Sftp {
  list(folder: string): Promise<string[]>
  read(path: string): Promise<Buffer>
  /** The file appears under its name whole or not at all. */
  place(path: string, bytes: Uint8Array): Promise<void>
  move(from: string, to: string): Promise<void>
}

export interface SftpAccount {
  host: string
  port: number
  username: string
  privateKey: string | null
  password: string | null
  /** SHA256 fingerprint of the server's key, as ssh-keygen -l prints it, without its prefix. */
  fingerprint: string
}

const CONNECT_MS = 10_000
const NO_SUCH_FILE = 2

/** Connects, works and hangs up: the post's server closes idle sessions, and letters leave in lots. */
export async function withSftp<T>(account: SftpAccount, signal: AbortSignal, work: (sftp: Sftp) => Promise<T>): Promise<T> {
  const client = new Client()
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('close', () => reject(new Error('the connection was closed')))
    const stop = (): void => reject(signal.reason as Error)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  // Whoever waits on the race sees it; after the work is done nobody does.
  broken.catch(() => {})
  try {
    const sftp = await Promise.race([open(client, account), broken])
    return await Promise.race([work(sftp), broken])
  } finally {
    client.end()
    client.destroy()
  }
}

function open(client: Client, { host, port, username, privateKey, password, fingerprint }: SftpAccount): Promise<Sftp> {
  const config: ConnectConfig = {
    host,
    port,
    username,
    readyTimeout: CONNECT_MS,
    keepaliveInterval: 5_000,
    ...(privateKey === null ? {} : { privateKey }),
    ...(password === null ? {} : { password }),
    hostVerifier: (key: Buffer) => createHash('sha256').update(key).digest('base64').replace(/=+$/, '') === fingerprint,
  }
  return new Promise((resolve, reject) => {
    client.on('ready', () => client.sftp((error, session) => (error ? reject(error) : resolve(wrap(session)))))
    client.connect(config)
  })
}

function wrap(session: SFTPWrapper): Sftp {
  const call = <T>(start: (done: (error: Error | null | undefined, value?: T) => void) => void): Promise<T> =>
    new Promise((resolve, reject) => start((error, value) => (error ? reject(error) : resolve(value as T))))
  const exists = (path: string): Promise<boolean> =>
    call(done => session.stat(path, done)).then(
      () => true,
      error => {
        if ((error as { code?: number }).code === NO_SUCH_FILE) return false
        throw error
      },
    )
  return {
    list: folder =>
      call<{ filename: string }[]>(done => session.readdir(folder, done)).then(files => files.map(file => file.filename)),
    read: path => call<Buffer>(done => session.readFile(path, done)),
    async place(path, bytes) {
      // The same name means the same bytes: what is there already is what we would put there.
      if (await exists(path)) return
      // Its own name: two workers that write one file would cut it short for each other.
      const part = `${path}.${randomUUID()}.part`
      await call<void>(done => session.writeFile(part, Buffer.from(bytes), done))
      try {
        await call<void>(done => session.rename(part, path, done))
      } catch (error) {
        // Another worker may have been faster with the same file.
        if (!(await exists(path))) throw error
        await call<void>(done => session.unlink(part, done)).catch(() => {})
      }
    },
    move: (from, to) => call<void>(done => session.rename(from, to, done)),
  }
}
