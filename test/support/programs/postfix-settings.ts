import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findProgram, userIds } from './other-programs.js'

/** The files of a Postfix of our own: settings, queue and log in one folder. It listens on one port of this machine. */
interface PostfixFiles {
  settings: string
  queue: string
  log: string
  /** The program that runs all others. */
  master: string
}

const DAEMON_FOLDERS = ['/usr/lib/postfix/sbin', '/usr/libexec/postfix', '/usr/lib/postfix']

const SERVICES = `
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
local unix - n n - - local
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`

/** Writes main.cf and master.cf. `more`: lines of main.cf that say where the messages go. */
export function writePostfixSettings(folder: string, port: number, more: Record<string, string>): PostfixFiles {
  const [settings, queue, data] = ['etc', 'queue', 'data'].map(name => join(folder, name)) as [string, string, string]
  for (const path of [settings, queue, data]) mkdirSync(path, { recursive: true })
  const owner = userIds('postfix')
  if (owner === null) throw new Error('there is no user postfix')
  chownSync(data, owner.uid, owner.gid)
  const log = join(folder, 'mail.log')
  const lines: Record<string, string> = {
    compatibility_level: '3.6',
    command_directory: dirname(findProgram('postfix')!),
    daemon_directory: DAEMON_FOLDERS.find(path => existsSync(join(path, 'master')))!,
    queue_directory: queue,
    data_directory: data,
    maillog_file: log,
    maillog_file_prefixes: folder,
    myhostname: 'relay.example.com',
    mydestination: '',
    local_recipient_maps: '',
    alias_maps: '',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    mynetworks: '127.0.0.0/8',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    smtpd_peername_lookup: 'no',
    disable_dns_lookups: 'yes',
    ...more,
  }
  const text = Object.entries(lines).map(([name, value]) => `${name} = ${value}\n`)
  writeFileSync(join(settings, 'main.cf'), text.join(''))
  writeFileSync(join(settings, 'master.cf'), `127.0.0.1:${port} inet n - n - - smtpd${SERVICES}`)
  return { settings, queue, log, master: join(lines.daemon_directory!, 'master') }
}
