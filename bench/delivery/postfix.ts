import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/runtime/free-port.js'
import { findProgram, isRoot, untilListening } from '../../test/support/programs/other-programs.js'
import { writePostfixSettings } from '../../test/support/programs/postfix-settings.js'
import { cpuSeconds } from '../support/cpu.js'
import { stop, type Workspace } from '../support/workspace.js'
import { SENDER } from './message.js'
import type { SigningKey } from './signing.js'

/** A Postfix of our own that relays everything to one port; with a key, OpenDKIM signs as its milter. */
export interface Postfix {
  /** Hands over so many messages of that size. */
  inject(count: number, bytes: number): Promise<void>
  /** Nothing left in its queue. */
  untilEmpty(): Promise<void>
  cpuSeconds(): number
  stop(): Promise<void>
}

/** As many as our client has; it is Postfix's own limit for one destination, too. */
const SESSIONS = '20'
const QUEUES = ['maildrop', 'incoming', 'active', 'deferred']

/** What is in the way, or null. */
export function missingPostfix(signed: boolean): string | null {
  for (const program of ['postfix', 'smtp-source', ...(signed ? ['opendkim'] : [])])
    if (findProgram(program) === null) return `${program} is not installed`
  return isRoot ? null : 'Postfix needs root'
}

export async function startPostfix(workspace: Workspace, sinkPort: number, key: SigningKey | null): Promise<Postfix> {
  const signer = key === null ? null : await startOpendkim(workspace, key)
  const port = await freePort()
  const files = writePostfixSettings(workspace.folder(`postfix-${port}`), port, {
    relayhost: `[127.0.0.1]:${sinkPort}`,
    // Otherwise Postfix holds back its clients while the queue is long.
    in_flow_delay: '0',
    ...(signer === null ? {} : { smtpd_milters: `inet:127.0.0.1:${signer.port}`, milter_default_action: 'tempfail' }),
  })
  // Detached: a master that ends takes its process group along.
  const options = { detached: true, stdio: 'ignore', env: { ...process.env, MAIL_CONFIG: files.settings } } as const
  // Makes the folders of the queue. The master itself is our child: the script of 'postfix start-fg' ends without it.
  execFileSync(findProgram('postfix')!, ['-c', files.settings, 'check'], { stdio: 'ignore' })
  const master = workspace.spawn(files.master, ['-s'], options)
  await untilListening(port)
  return {
    async inject(count, bytes) {
      const args = ['-s', SESSIONS, '-m', String(count), '-l', String(bytes), '-f', SENDER, '-t', 'maria@example.com', '-d']
      const source = workspace.spawn(findProgram('smtp-source')!, [...args, `127.0.0.1:${port}`], {
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const [code] = await once(source, 'exit')
      if (code !== 0) throw new Error(`smtp-source ended with ${code}`)
    },
    async untilEmpty() {
      while (QUEUES.some(name => holdsFile(join(files.queue, name)))) await sleep(5)
    },
    cpuSeconds: () => cpuSeconds(master.pid!) + (signer === null ? 0 : cpuSeconds(signer.pid)),
    async stop() {
      await stop(master)
      await signer?.stop()
    },
  }
}

/** The deferred queue has folders in it that stay. */
const holdsFile = (folder: string): boolean =>
  readdirSync(folder, { withFileTypes: true }).some(entry => (entry.isDirectory() ? holdsFile(join(folder, entry.name)) : true))

async function startOpendkim(workspace: Workspace, { file, domain, selector, algorithm }: SigningKey) {
  const port = await freePort()
  const config = join(workspace.folder('opendkim'), `${port}.conf`)
  writeFileSync(
    config,
    `Mode s
Domain ${domain}
Selector ${selector}
KeyFile ${file}
RequireSafeKeys no
SignatureAlgorithm ${algorithm}
Canonicalization relaxed/relaxed
Socket inet:${port}@127.0.0.1
InternalHosts 127.0.0.1
Background no
`,
  )
  const child = workspace.spawn(findProgram('opendkim')!, ['-f', '-x', config], { stdio: ['ignore', 'ignore', 'inherit'] })
  await untilListening(port)
  return { port, pid: child.pid!, stop: () => stop(child) }
}
