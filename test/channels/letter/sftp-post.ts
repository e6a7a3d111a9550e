import { createHash, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import ssh2, { type Connection, type SFTPWrapper } from 'ssh2'
import { onTestFinished } from 'vitest'

/** The post's SFTP server, of which a test says where it breaks. What it does to files it does to a real folder. */
export interface SftpPost {
  folder: string
  /** The PDFs of every lot that got the name that the post reads. */
  printed: string[]
  /** Whether the post takes lots away as soon as they are there. */
  takesAway: boolean
  url(user?: string): URL
  /**
   * Asked around every operation on files; 'fail' refuses it, 'cut' ends the connection, before it is done or after;
   * 'garble' answers with bytes that are not SSH, after it is done.
   */
  on: (operation: string, when: 'before' | 'after', user: string) => Verdict | Promise<Verdict>
  /** false: connections are cut as soon as they come. */
  open: boolean
  /** Connections to the server. */
  connections(): number
  /** Breaks every connection and stops listening. */
  leave(): Promise<void>
  comeBack(): Promise<void>
}

export const POST_PASSWORD = 'senha-dos-correios'
type Verdict = 'go' | 'fail' | 'cut' | 'garble'
const { STATUS_CODE, flagsToString } = ssh2.utils.sftp
const hostKey = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'sec1', format: 'pem' },
}).privateKey
const LOT = /_servico\.zip$/

export async function startSftpPost(): Promise<SftpPost> {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-post-'))
  for (const name of ['retorno', 'lidos']) mkdirSync(join(folder, name))
  const connections = new Set<Connection>()
  const server = new ssh2.Server({ hostKeys: [hostKey] }, connection => {
    connection.on('error', () => {}).on('close', () => connections.delete(connection))
    if (!post.open) return void connection.end()
    connections.add(connection)
    let user = ''
    connection.on('authentication', context => {
      user = context.username
      context.accept()
    })
    const behaviour = {
      ask: (operation: string, when: 'before' | 'after') => post.on(operation, when, user),
      cut: () => cut(connection),
      garble: () => void socketOf(connection).write(Buffer.alloc(64, 'lixo')),
      post,
    }
    connection.on('session', accept => accept().on('sftp', acceptSftp => serve(acceptSftp(), behaviour)))
  })
  const listen = async (at: number): Promise<void> => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
  }
  const leave = async (): Promise<void> => {
    for (const connection of connections) cut(connection)
    const closed = once(server, 'close')
    server.close()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  const fingerprint = createHash('sha256').update((ssh2.utils.parseKey(hostKey) as ssh2.ParsedKey).getPublicSSH())
  const chave = `SHA256:${fingerprint.digest('base64')}`
  const post: SftpPost = {
    folder,
    printed: [],
    takesAway: false,
    open: true,
    connections: () => connections.size,
    leave,
    comeBack: () => listen(port),
    on: () => 'go',
    url(user = 'carteiro') {
      const search = new URLSearchParams({
        matriz: '1',
        contrato: '9',
        cartao: '7',
        chave,
        espera: '20',
        retornos: '86400',
      })
      return new URL(`ecarta+sftp://${user}:${POST_PASSWORD}@127.0.0.1:${port}${folder}?${search}`)
    },
  }
  onTestFinished(async () => {
    if (server.address() !== null) await leave()
    rmSync(folder, { recursive: true, force: true })
  })
  return post
}

/** Not end(), which is polite: the peer must notice nothing but silence and a closed socket. */
const cut = (connection: Connection): void => void socketOf(connection).destroy()

const socketOf = (connection: Connection): Socket => (connection as unknown as { _sock: Socket })._sock

interface Behaviour {
  post: SftpPost
  ask(operation: string, when: 'before' | 'after'): Verdict | Promise<Verdict>
  cut(): void
  garble(): void
}

function serve(sftp: SFTPWrapper, { post, ask, cut, garble }: Behaviour): void {
  const handles = new Map<number, { file: number } | { folder: string; names: string[] }>()
  let last = 0
  const handleOf = (entry: { file: number } | { folder: string; names: string[] }): Buffer => {
    handles.set(++last, entry)
    const handle = Buffer.alloc(4)
    handle.writeUInt32BE(last)
    return handle
  }
  const entryOf = <T>(handle: Buffer): T => handles.get(handle.readUInt32BE()) as T
  /** Does one operation, unless the test strikes; an error of the disk is reported as one. */
  const answer = async (id: number, operation: string, work: () => () => void): Promise<void> => {
    const before = await ask(operation, 'before')
    if (before === 'cut') return cut()
    if (before === 'fail') return void sftp.status(id, STATUS_CODE.FAILURE)
    const reply = attempt(id, work)
    const after = await ask(operation, 'after')
    if (after === 'cut') return cut()
    if (after === 'garble') return garble()
    reply()
  }
  const attempt = (id: number, work: () => () => void): (() => void) => {
    try {
      return work()
    } catch (error) {
      const none = (error as NodeJS.ErrnoException).code === 'ENOENT'
      return () => sftp.status(id, none ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE)
    }
  }
  const ok = (id: number) => (): void => sftp.status(id, STATUS_CODE.OK)

  sftp.on('OPEN', (id, path, flags) =>
    answer(id, 'open', () => {
      const handle = handleOf({ file: openSync(path, flagsToString(flags) ?? 'r') })
      return () => sftp.handle(id, handle)
    }),
  )
  sftp.on('WRITE', (id, handle, offset, data) =>
    answer(id, 'write', () => {
      writeSync(entryOf<{ file: number }>(handle).file, data, 0, data.length, offset)
      return ok(id)
    }),
  )
  sftp.on('READ', (id, handle, offset, length) =>
    answer(id, 'read', () => {
      const buffer = Buffer.alloc(length)
      const count = readSync(entryOf<{ file: number }>(handle).file, buffer, 0, length, offset)
      return () => (count === 0 ? sftp.status(id, STATUS_CODE.EOF) : sftp.data(id, buffer.subarray(0, count)))
    }),
  )
  sftp.on('CLOSE', (id, handle) => {
    const entry = entryOf<{ file: number } | { names: string[] }>(handle)
    // The end of a listing is no step of a hand-over.
    if ('names' in entry) return sftp.status(id, STATUS_CODE.OK)
    return answer(id, 'close', () => {
      closeSync(entry.file)
      return ok(id)
    })
  })
  const stat = (id: number, path: string): Promise<void> =>
    answer(id, 'stat', () => {
      const { mode, uid, gid, size } = statSync(path)
      return () => sftp.attrs(id, { mode, uid, gid, size, atime: 0, mtime: 0 })
    })
  sftp.on('STAT', stat)
  sftp.on('LSTAT', stat)
  sftp.on('FSTAT', id => void sftp.status(id, STATUS_CODE.OP_UNSUPPORTED))
  sftp.on('FSETSTAT', id => void sftp.status(id, STATUS_CODE.OK))
  sftp.on('OPENDIR', (id, path) => {
    const handle = handleOf({ folder: path, names: readdirSync(path) })
    sftp.handle(id, handle)
  })
  sftp.on('READDIR', (id, handle) => {
    const { folder, names } = entryOf<{ folder: string; names: string[] }>(handle)
    const listed = names.splice(0).map(filename => {
      const { mode, uid, gid, size, mtimeMs } = statSync(join(folder, filename))
      return { filename, longname: filename, attrs: { mode, uid, gid, size, atime: 0, mtime: Math.floor(mtimeMs / 1_000) } }
    })
    if (listed.length === 0) sftp.status(id, STATUS_CODE.EOF)
    else sftp.name(id, listed)
  })
  sftp.on('REMOVE', (id, path) =>
    answer(id, 'remove', () => {
      unlinkSync(path)
      return ok(id)
    }),
  )
  sftp.on('RENAME', (id, from, to) =>
    answer(id, 'rename', () => {
      // As the protocol has it: a name that is taken is not given again.
      if (statSync(to, { throwIfNoEntry: false }) !== undefined) throw new Error('it exists')
      renameSync(from, to)
      if (LOT.test(to)) print(to, post)
      return ok(id)
    }),
  )
}

function print(path: string, post: SftpPost): void {
  for (const [name, bytes] of Object.entries(unzipSync(readFileSync(path)))) {
    if (name.endsWith('.pdf')) post.printed.push(Buffer.from(bytes).toString())
  }
  if (post.takesAway) unlinkSync(path)
}
