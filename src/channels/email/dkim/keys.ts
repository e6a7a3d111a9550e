import { generateKeyPairSync } from 'node:crypto'
import { seal, unseal } from '../../../domain/access/sealed.js'
import { OperatorError } from '../../../domain/errors.js'
import type { Queryable } from '../../../store/postgres.js'
import type { Lookup } from '../resolver.js'
import { activateDkimKey, type DkimKey, deleteDkimKey, findDkimKey, insertDkimKey, lockDkimDomain } from './key-store.js'
import {
  type DkimAlgorithm,
  type DkimName,
  type DnsRecord,
  dkimRecord,
  publishes,
  readSigningKey,
  type SigningKey,
} from './signing-key.js'

/** All verifiers support this length; longer keys exceed the DNS forms of some providers. */
const RSA_BITS = 2048

const contextOf = ({ domain, selector }: DkimName): string => `dkim ${domain} ${selector}`

export function openDkimKey(sealing: Buffer, { domain, selector, privateKey }: DkimName & { privateKey: Buffer }): SigningKey {
  let pem: Buffer
  try {
    pem = unseal(sealing, privateKey, contextOf({ domain, selector }))
  } catch (cause) {
    throw new OperatorError(`A chave DKIM ${selector} de ${domain} foi alterada no banco e não abre. Remova-a e crie outra.`, {
      cause,
    })
  }
  return readSigningKey({ domain, selector, privateKeyPem: pem.toString() })
}

export function generateDkimKey(name: DkimName, algorithm: DkimAlgorithm): SigningKey {
  const { privateKey } =
    algorithm === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: RSA_BITS }) : generateKeyPairSync('ed25519')
  return { ...name, algorithm, key: privateKey }
}

export async function saveDkimKey(db: Queryable, sealing: Buffer, signing: SigningKey): Promise<void> {
  const { domain, selector, algorithm, key } = signing
  const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string
  const privateKey = seal(sealing, Buffer.from(pem), contextOf(signing))
  if (!(await insertDkimKey(db, { domain, selector, algorithm, privateKey })))
    throw new OperatorError(`Já existe a chave DKIM ${selector} de ${domain}. Informe outro seletor em --selector.`)
}

/** A key with the record that the domain's owner publishes. */
export type PublicKey = DkimKey & { record: DnsRecord }

export async function requireDkimKey(db: Queryable, sealing: Buffer, name: DkimName): Promise<PublicKey> {
  const found = await findDkimKey(db, name)
  if (found === null) throw missing(name)
  const { privateKey, ...key } = found
  return { ...key, record: dkimRecord(openDkimKey(sealing, { ...name, privateKey })) }
}

const missing = ({ domain, selector }: DkimName): OperatorError =>
  new OperatorError(`Não existe a chave DKIM ${selector} de ${domain}. Veja as chaves com: carteiro dkim list`)

/** Receivers treat mail signed with an unpublished key worse than unsigned mail, so DNS is checked before activation. */
export async function checkPublished(record: DnsRecord, lookup: (name: string) => Promise<Lookup<string>>): Promise<void> {
  const answer = await lookup(record.name)
  const found = answer.status === 'ok' ? answer.records : []
  if (found.length === 1 && publishes(found[0]!, record)) return
  const problem =
    answer.status === 'unknown'
      ? `O DNS não respondeu sobre ${record.name}.`
      : found.length === 0
        ? `Não há registro TXT em ${record.name}.`
        : `O registro TXT em ${record.name} não é o desta chave. Encontrado:\n${found.map(text => `  ${printable(text)}`).join('\n')}`
  throw new OperatorError(
    `${problem}\nDeve haver um só, com o valor:\n  ${record.value}\nMudanças no DNS podem levar horas para aparecer; --force ativa a chave assim mesmo.`,
  )
}

/** DNS text is untrusted and must not send control sequences to the operator's terminal. */
const printable = (text: string): string => text.slice(0, 1_000).replace(/[^\x20-\x7e]/g, '?')

/** Activates by id: a key that was recreated under the same selector in the meantime was not the one checked in DNS. */
export async function startSigning(db: Queryable, { id, domain, selector }: DkimKey): Promise<void> {
  await lockDkimDomain(db, domain)
  if (!(await activateDkimKey(db, id)))
    throw new OperatorError(
      `A chave DKIM ${selector} de ${domain} foi removida enquanto isso. Veja as chaves com: carteiro dkim list`,
    )
}

export async function removeDkimKey(db: Queryable, name: DkimName, force: boolean): Promise<void> {
  await lockDkimDomain(db, name.domain)
  const key = await findDkimKey(db, name)
  if (key === null) throw missing(name)
  if (key.signs && !force)
    throw new OperatorError(
      `A chave DKIM ${name.selector} assina os e-mails de ${name.domain}. Ative outra antes, ou use --force para removê-la assim mesmo.`,
    )
  await deleteDkimKey(db, key.id)
}
