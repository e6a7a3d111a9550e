import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { OperatorError } from '../../../domain/errors.js'
import { readDomain } from '../../../domain/text/mail-address.js'

/** DKIM signing keys (RFC 6376) and the DNS records with their public keys. */
export const dkimAlgorithms = ['rsa', 'ed25519'] as const
export type DkimAlgorithm = (typeof dkimAlgorithms)[number]

/** The d= and s= tags of a signature. */
export interface DkimName {
  domain: string
  selector: string
}

export interface SigningKey extends DkimName {
  algorithm: DkimAlgorithm
  key: KeyObject
}

/** Verifiers must refuse shorter keys (RFC 8301). */
const MIN_RSA_BITS = 1024

/** The name in lower case, or null when it is not a DNS name. */
export function readDkimName({ domain: domainText, selector: selectorText }: DkimName): DkimName | null {
  const domain = readDomain(domainText)
  const selector = selectorText.toLowerCase()
  const isName = selector.split('.').every(label => label.length <= 63 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label))
  if (domain === null || !isName || recordName({ domain, selector }).length > 253) return null
  return { domain, selector }
}

/** Throws an OperatorError for a key that cannot sign. */
export function readSigningKey({ domain, selector, privateKeyPem }: DkimName & { privateKeyPem: string }): SigningKey {
  if (!/^[A-Za-z0-9.-]+$/.test(domain) || !/^[A-Za-z0-9._-]+$/.test(selector)) {
    throw new OperatorError('DKIM: o domínio e o seletor devem ser nomes de DNS')
  }
  let key: KeyObject
  try {
    key = createPrivateKey(privateKeyPem)
  } catch (cause) {
    throw new OperatorError('DKIM: a chave privada não é um PEM que se possa ler (sem senha)', { cause })
  }
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'ed25519' || (type === 'rsa' && (details?.modulusLength ?? 0) >= MIN_RSA_BITS)) {
    return { domain, selector, algorithm: type, key }
  }
  throw new OperatorError(`DKIM: a chave privada deve ser RSA de ${MIN_RSA_BITS} bits ou mais, ou Ed25519`)
}

/** Reads the key of a PEM file; `failure` is the error's text when the file cannot be read. */
export function readKeyFile({ domain, selector, keyFile }: DkimName & { keyFile: string }, failure: string): SigningKey {
  let privateKeyPem: string
  try {
    privateKeyPem = readFileSync(keyFile, 'utf8')
  } catch (cause) {
    throw new OperatorError(failure, { cause })
  }
  return readSigningKey({ domain, selector, privateKeyPem })
}

export interface DnsRecord {
  name: string
  value: string
}

export function dkimRecord({ domain, selector, algorithm, key }: SigningKey): DnsRecord {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
  // RFC 8463 4.2: the Ed25519 record contains the bare key, without the SPKI structure of RSA.
  const bytes = algorithm === 'rsa' ? spki : spki.subarray(-32)
  return { name: recordName({ domain, selector }), value: `v=DKIM1; k=${algorithm}; p=${bytes.toString('base64')}` }
}

export const recordName = ({ domain, selector }: DkimName): string => `${selector}._domainkey.${domain}`

/** The record as a line of a zone file. A TXT record holds strings of at most 255 bytes (RFC 1035 3.3.14). */
export function zoneLine({ name, value }: DnsRecord): string {
  const strings = value.match(/.{1,255}/g)!.map(text => `"${text}"`)
  return `${name}. IN TXT ${strings.length === 1 ? strings[0] : `( ${strings.join(' ')} )`}`
}

/** Whether a verifier accepts our signatures with this record: the same key, allowed for e-mail and SHA-256 (RFC 6376 3.6.1). */
export function publishes(found: string, { value }: DnsRecord): boolean {
  const [has, wants] = [readTags(found), readTags(value)]
  const lists = (tag: string, ...words: string[]): boolean =>
    (has.get(tag) ?? words[0]!).split(':').some(word => words.includes(word))
  return (
    (has.get('v') ?? 'DKIM1') === 'DKIM1' &&
    (has.get('k') ?? 'rsa') === wants.get('k') &&
    has.get('p') === wants.get('p') &&
    lists('h', 'sha256') &&
    lists('s', '*', 'email')
  )
}

function readTags(text: string): Map<string, string> {
  const tags = text.split(';').map(tag => [tag, tag.indexOf('=')] as const)
  return new Map(tags.map(([tag, at]) => [tag.slice(0, at).trim(), tag.slice(at + 1).replace(/\s+/g, '')]))
}
