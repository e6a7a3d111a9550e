import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from './cpu.js'
import { SENDER } from './message.js'
import { findProgram, freePort, reach } from './programs.js'
import type { SigningKey } from './signing.js'
import { stop, type Workspace } from './workspace.js'

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
  return process.getuid?.() === 0 ? null : 'Postfix needs root'
}

export async function startPostfix(workspace: Workspace, sinkPort: number, key: SigningKey | null): Promise<Postfix> {
  const signer = key === null ? null : await startOpendkim(workspace, key)
  const port = await freePort()
  const { settings, queue } = writeSettings(workspace, { port, sinkPort, milterPort: signer?.port ?? null })
  // Detached: a master that ends takes its process group along.
  const options = { detached: true, stdio: 'ignore' } as const
  const master = workspace.spawn(findProgram('postfix')!, ['-c', settings, 'start-fg'], options)
  await reach(port).then(probe => probe.destroy())
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
      while (QUEUES.some(name => holdsFile(join(queue, name)))) await sleep(5)
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

const SERVICES = `
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`

interface Ports {
  port: number
  sinkPort: number
  milterPort: number | null
}

function writeSettings(workspace: Workspace, ports: Ports): { settings: string; queue: string } {
  const root = workspace.folder(`postfix-${ports.port}`)
  const [settings, queue, data] = ['etc', 'queue', 'data'].map(name => join(root, name)) as [string, string, string]
  for (const folder of [settings, queue, data]) mkdirSync(folder, { recursive: true })
  chownSync(data, ...userIds('postfix'))
  const places = ['/usr/lib/postfix/sbin', '/usr/libexec/postfix', '/usr/lib/postfix']
  const lines: Record<string, string> = {
    compatibility_level: '3.6',
    command_directory: dirname(findProgram('postfix')!),
    daemon_directory: places.find(path => existsSync(join(path, 'master')))!,
    queue_directory: queue,
    data_directory: data,
    maillog_file: join(root, 'mail.log'),
    maillog_file_prefixes: root,
    myhostname: 'relay.example.org',
    mydestination: '',
    local_recipient_maps: '',
    alias_maps: '',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    mynetworks: '127.0.0.0/8',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    smtpd_peername_lookup: 'no',
    disable_dns_lookups: 'yes',
    relayhost: `[127.0.0.1]:${ports.sinkPort}`,
    // Otherwise whoever hands over is held back while the queue is long.
    in_flow_delay: '0',
    ...(ports.milterPort === null
      ? {}
      : { smtpd_milters: `inet:127.0.0.1:${ports.milterPort}`, milter_default_action: 'tempfail' }),
  }
  const text = Object.entries(lines).map(([name, value]) => `${name} = ${value}\n`)
  writeFileSync(join(settings, 'main.cf'), text.join(''))
  writeFileSync(join(settings, 'master.cf'), `127.0.0.1:${ports.port} inet n - n - - smtpd${SERVICES}`)
  return { settings, queue }
}

function userIds(name: string): [number, number] {
  const line = readFileSync('/etc/passwd', 'utf8').match(new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm'))
  if (line === null) throw new Error(`there is no user ${name}`)
  return [Number(line[1]), Number(line[2])]
}

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
  await reach(port).then(probe => probe.destroy())
  return { port, pid: child.pid!, stop: () => stop(child) }
}
