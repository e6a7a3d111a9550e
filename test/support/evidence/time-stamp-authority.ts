import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Certification } from './certification.js'

/** A time-stamp authority (RFC 3161) played by `openssl ts -reply` behind HTTP. */
export interface TimeStampAuthority {
  url: string
  /** The queries that it got. */
  queries: Buffer[]
  /** Answers in its place, until it is null. */
  answer: ((query: Buffer, response: ServerResponse, request: IncomingMessage) => void) | null
  /** The reply that openssl makes for a query. */
  reply(query: Buffer): Promise<Buffer>
  close(): Promise<void>
}

interface AuthorityOptions {
  /** Extensions of its certificate; by default those of a real authority. */
  extensions?: readonly string[]
  key?: 'ec' | 'rsa'
  days?: number
  port?: number
}

const run = promisify(execFile)
const STAMPS = [
  'basicConstraints = CA:FALSE',
  'keyUsage = critical, digitalSignature',
  'extendedKeyUsage = critical, timeStamping',
]
let count = 0

export async function startTimeStampAuthority(
  certification: Certification,
  { extensions = STAMPS, key = 'ec', days = 365, port = 0 }: AuthorityOptions = {},
): Promise<TimeStampAuthority> {
  const name = `tsa-${++count}`
  const { certFile, keyFile } = certification.issue({ name, key, extensions, days })
  const folder = mkdtempSync(join(certification.folder, 'tsa-'))
  writeFileSync(join(folder, 'serial'), '01\n')
  const settings = {
    serial: join(folder, 'serial'),
    crypto_device: 'builtin',
    signer_cert: certFile,
    certs: certification.caFile,
    signer_key: keyFile,
    signer_digest: 'sha256',
    default_policy: '1.2.3.4.1',
    digests: 'sha256, sha384, sha512',
    accuracy: 'secs:1',
    ess_cert_id_alg: 'sha256',
  }
  const lines = Object.entries(settings).map(([setting, value]) => `${setting} = ${value}`)
  writeFileSync(join(folder, 'tsa.cnf'), ['[tsa]', 'default_tsa = own', '[own]', ...lines, ''].join('\n'))
  // openssl reads and writes the serial number in a file: one reply at a time.
  let last: Promise<unknown> = Promise.resolve()
  const reply = (query: Buffer): Promise<Buffer> => {
    const next = last.then(async () => {
      writeFileSync(join(folder, 'query'), query)
      await run('openssl', ['ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query', '-out', 'reply'], { cwd: folder })
      return readFileSync(join(folder, 'reply'))
    })
    last = next.catch(() => {})
    return next
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', async () => {
      const query = Buffer.concat(chunks)
      authority.queries.push(query)
      if (authority.answer !== null) return authority.answer(query, response, request)
      if (request.headers['content-type'] !== 'application/timestamp-query') return response.writeHead(415).end()
      const made = await reply(query).catch(() => null)
      if (made === null) response.writeHead(500).end()
      else response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(made)
    })
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const authority: TimeStampAuthority = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tsr`,
    queries: [],
    answer: null,
    reply,
    async close() {
      server.closeAllConnections()
      await new Promise<void>(resolve => server.close(() => resolve()))
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return authority
}
