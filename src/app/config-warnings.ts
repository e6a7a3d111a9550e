import { clearTextServers } from '../store/database-url.js'
import type { Config } from './config.js'

/**
 * What is allowed and probably not meant, each told by the name of its setting: a default that suits a trial only, a name that is
 * nearly a known one, a password that was not encoded.
 */
export function findWarnings(env: NodeJS.ProcessEnv, known: ReadonlySet<string>, config: Omit<Config, 'warnings'>): string[] {
  const warnings: string[] = []
  if (config.hasCarriers && isUnset(env.PUBLIC_URL)) {
    warnings.push(
      `PUBLIC_URL não foi definida: os links das mensagens levarão a ${config.publicUrl}, e quem as recebe não chega lá.`,
    )
  }
  const idle = (names: readonly string[], without: string): void => {
    for (const name of names.filter(name => !isUnset(env[name]))) warnings.push(`${name} não tem efeito sem ${without}.`)
  }
  if (config.databaseUrl === null) idle(['DATABASE_REPLICA_URL'], 'DATABASE_URL')
  for (const { name, servers } of clearTextDatabases(config))
    warnings.push(`${name} não pede TLS até ${servers.join(', ')}: senha e mensagens passam em claro pela rede. ${TLS_ADVICE}`)
  // Documents would be signed with a certificate that is not the one that was meant.
  if (config.signature.kind !== 'pkcs12') idle(['SIGNATURE_P12_PASSWORD', 'SIGNATURE_P12_PASSWORD_FILE'], 'SIGNATURE_P12_FILE')
  if (config.signature.kind !== 'pkcs11') idle(['SIGNATURE_ISSUERS_FILE'], 'SIGNATURE_PKCS11')
  if (config.tracing === null) idle(['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_TRACES_SAMPLER_ARG'], 'OTEL_EXPORTER_OTLP_ENDPOINT')
  if (!config.simulator) idle(['SIMULATOR_URL'], 'SIMULATOR=on')
  if (config.simulatorUrl === null) idle(['SIMULATOR_KEY'], 'SIMULATOR_URL')
  else if (config.simulator && config.simulatorKey === null)
    warnings.push('SIMULATOR_KEY não foi definida: o simulador de SIMULATOR_URL não atende sem a chave que mostrou ao iniciar.')
  // Attachments arrive as base64, which is a third longer.
  if (config.maxBodyBytes < (config.attachments.maxTotalBytes * 4) / 3)
    warnings.push(
      'MAX_BODY_MIB não comporta os anexos que MAX_ATTACHMENTS_MIB permite: em base64 crescem um terço, e o envio é recusado inteiro. Deixe MAX_BODY_MIB em 4/3 de MAX_ATTACHMENTS_MIB ou mais.',
    )
  for (const { carriers, warnings: own = [], idle: unused = [] } of Object.values(config.channels)) {
    if (carriers.length > 0) warnings.push(...own)
    for (const { names, without } of unused) idle(names, without)
  }
  for (const name of Object.keys(env).filter(name => !known.has(name))) {
    const meant = findNearest(name, known)
    if (meant !== null) warnings.push(`${name} não é uma configuração e foi ignorada. Você quis dizer ${meant}?`)
  }
  for (const name of known) {
    if ((env[name] ?? '').split(',').some(hasRawAt))
      warnings.push(
        `${name} tem um @ dentro do usuário ou da senha: escreva-o como %40, ou o endereço pode ser lido de outro modo.`,
      )
  }
  return warnings
}

export const TLS_ADVICE =
  'Acrescente ?sslmode=verify-full à URL (docs/producao.md), ou ?sslmode=disable se a rede até o banco é só sua.'

/** The databases on other machines that are reached without TLS and without a word about it, by the name of their setting. */
export function clearTextDatabases(
  config: Pick<Config, 'databaseUrl' | 'databaseOwnerUrl' | 'replicaUrl'>,
): { name: string; servers: string[] }[] {
  const urls = {
    DATABASE_URL: config.databaseUrl,
    DATABASE_OWNER_URL: config.databaseOwnerUrl,
    DATABASE_REPLICA_URL: config.replicaUrl,
  }
  return Object.entries(urls)
    .map(([name, url]) => ({ name, servers: url === null ? [] : clearTextServers(url) }))
    .filter(({ servers }) => servers.length > 0)
}

const isUnset = (text: string | undefined): boolean => text === undefined || text.trim() === ''

/** The last @ of the authority ends the credentials; one before it is part of them. */
const hasRawAt = (url: string): boolean => /^\s*[a-z][a-z0-9+.-]*:\/\/[^/?#]*@[^/?#]*@/i.test(url)

/** The known name that this one was probably meant to be. Short names are close to too many others. */
function findNearest(name: string, known: ReadonlySet<string>): string | null {
  const upper = name.toUpperCase()
  let nearest: { name: string; distance: number } | null = null
  for (const candidate of known) {
    const allowed = candidate.length < 6 ? 0 : Math.min(3, Math.floor(candidate.length / 5))
    const least = Math.abs(candidate.length - upper.length)
    if (least > allowed || least >= (nearest?.distance ?? Number.POSITIVE_INFINITY)) continue
    const found = distance(upper, candidate)
    if (found <= Math.min(allowed, (nearest?.distance ?? allowed + 1) - 1)) nearest = { name: candidate, distance: found }
  }
  return nearest?.name ?? null
}

/** How many letters must be put in, left out, changed or swapped with their neighbour. */
function distance(a: string, b: string): number {
  let [older, row] = [[] as number[], Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, changed)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j]!, older[j - 2]! + 1)
    }
    ;[older, row] = [row, next]
  }
  return row[b.length]!
}
