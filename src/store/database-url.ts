import { isLoopbackHost } from '../domain/access/target-address.js'

/**
 * DATABASE_URL as libpq writes it: one server, or several separated by commas, of which the program uses the one that accepts writes.
 * The driver knows one server a URL.
 */
export interface DatabaseServers {
  /** One URL for each server, in the order in which they are written. */
  urls: readonly [string, ...string[]]
  /** Only a server that accepts writes is used: always with several servers, and where target_session_attrs asks for it. */
  writable: boolean
}

export const DATABASE_URL_EXPECTED =
  'uma URL postgresql://usuario:senha@servidor:5432/banco; com réplicas, todos os servidores separados por vírgulas (servidor1:5432,servidor2:5432) e, se houver, target_session_attrs=read-write ou primary'

const PARTS = /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#@]*)([/?#].*)?$/i
const ATTRIBUTE = /([?&])target_session_attrs=([^&#]*)&?/
/** A gateway writes: a server that only reads is of no use to it. */
const WRITABLE = ['read-write', 'primary']

/** null: not such a URL. */
export function readDatabaseUrl(text: string): DatabaseServers | null {
  const [, protocol, credentials = '', hosts = '', rest = ''] = PARTS.exec(text) ?? []
  if (protocol === undefined) return null
  const asked = ATTRIBUTE.exec(rest)?.[2]
  if (asked !== undefined && !WRITABLE.includes(asked)) return null
  const path = rest.replace(ATTRIBUTE, '$1').replace(/[?&]$/, '')
  const urls = hosts.split(',').map(host => `${protocol}${credentials}${host.trim()}${path}`)
  if (!urls.every(url => URL.canParse(url)) || (urls.length > 1 && hosts.split(',').some(host => host.trim() === ''))) return null
  return { urls: urls as [string, ...string[]], writable: urls.length > 1 || asked !== undefined }
}

/**
 * The servers on other machines, where the URL says nothing of TLS: the driver then encrypts nothing. Any parameter of TLS counts as a
 * choice, sslmode=disable too.
 */
export function clearTextServers(url: string): string[] {
  return (readDatabaseUrl(url)?.urls ?? []).flatMap(server => {
    const { hostname, searchParams } = new URL(server)
    const host = searchParams.get('host') ?? decodeURIComponent(hostname)
    const isLocal = host === '' || host.startsWith('/') || isLoopbackHost(host)
    return isLocal || [...searchParams.keys()].some(name => name.startsWith('ssl')) ? [] : [host]
  })
}
