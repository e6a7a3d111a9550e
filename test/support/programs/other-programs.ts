import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Programs of other people, for tests, drills and benchmarks. The last two run outside the test runner: nothing here imports it. */
const PLACES = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/lib/postfix/sbin', '/usr/libexec/postfix']
const LONGEST_MS = 120_000

/** null: it is not installed. */
export const findProgram = (name: string): string | null =>
  PLACES.map(place => join(place, name)).find(path => existsSync(path)) ?? null

export const isRoot = process.getuid?.() === 0

/** null: the system has no user of that name. */
export function userIds(name: string): { uid: number; gid: number } | null {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find(entry => entry.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return line === undefined ? null : { uid: Number(uid), gid: Number(gid) }
}

/** Connects as soon as a program listens on the port. */
export async function reach(port: number): Promise<Socket> {
  const end = Date.now() + LONGEST_MS
  while (Date.now() < end) {
    const socket = await new Promise<Socket | null>(resolve => {
      const attempt = connect(port, '127.0.0.1', () => resolve(attempt))
      attempt.on('error', () => resolve(null))
    })
    if (socket !== null) return socket
    await sleep(50)
  }
  throw new Error(`no program listens on port ${port}`)
}

export async function untilListening(port: number): Promise<void> {
  const probe = await reach(port)
  probe.destroy()
}

/** Runs to the end; the output of a failure is part of the message. */
export function run(program: string, args: string[], input?: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: LONGEST_MS, input })
  if (error !== undefined || status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${error ?? status}\n${stdout}\n${stderr}`)
  return stdout
}
