import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, vi } from 'vitest'

/** Programs of other people to try our side against. A missing one skips its tests by name. */
const PLACES = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/lib/postfix/sbin', '/usr/libexec/postfix']

export const findProgram = (name: string): string | null =>
  PLACES.map(place => join(place, name)).find(path => existsSync(path)) ?? null

export const isRoot = process.getuid?.() === 0

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-peer-'))
  chmodSync(folder, 0o777)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A port that was free a moment ago, for programs that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise(resolve => server.close(resolve))
  return port
}

async function isListening(port: number): Promise<boolean> {
  return await new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

export async function untilListening(port: number): Promise<void> {
  await vi.waitFor(async () => expect(await isListening(port)).toBe(true), { timeout: 120_000, interval: 50 })
}

/** Postfix's test server, stopped when the test ends. */
export async function smtpSink(program: string, options: string[], folder?: string): Promise<number> {
  const port = await freePort()
  const user = isRoot ? ['-u', 'nobody'] : []
  const sink: ChildProcess = spawn(program, [...user, ...options, `127.0.0.1:${port}`, '1000'], {
    stdio: 'ignore',
    ...(folder === undefined ? {} : { cwd: folder }),
  })
  onTestFinished(() => void sink.kill())
  await untilListening(port)
  return port
}

/** Runs to the end; the output of a failure is part of the message. */
export function run(program: string, args: string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: 120_000, input })
  if (error !== undefined || status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error ?? status}\n${stdout}\n${stderr}`)
  return stdout
}

/** Every line of the system's user table: name, uid, gid. */
export function userIds(name: string): { uid: number; gid: number } | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find(entry => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return line === undefined ? null : { uid: Number(uid), gid: Number(gid) }
}
