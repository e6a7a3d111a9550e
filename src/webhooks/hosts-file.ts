import { readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'

export interface NamedAddress {
  address: string
  family: number
}

/** The entries of the system's hosts file, read again when the file changes. */
export function openHosts(file: string): () => ReadonlyMap<string, NamedAddress[]> {
  let seen = ''
  let hosts: ReadonlyMap<string, NamedAddress[]> = new Map()
  return () => {
    try {
      const { mtimeMs, size } = statSync(file)
      const state = `${mtimeMs} ${size}`
      if (state !== seen) hosts = parseHosts(readFileSync(file, 'utf8'))
      seen = state
      return hosts
    } catch {
      // Without the file the name servers are asked, as in the system's lookup.
      return new Map()
    }
  }
}

function parseHosts(text: string): Map<string, NamedAddress[]> {
  const hosts = new Map<string, NamedAddress[]>()
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/) as [string, ...string[]]
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names) {
      const key = name.toLowerCase()
      hosts.set(key, [...(hosts.get(key) ?? []), { address, family }])
    }
  }
  return hosts
}
