import { resolve } from 'node:path'
import type { ChannelConfig, Environment } from '../channels/channel-config.js'
import { channelModules } from '../channels/registry.js'
import { type AddressRange, parseRange, readRange } from '../domain/access/address-range.js'
import { readMasterKey } from '../domain/access/keys.js'
import { whole as readWhole } from '../domain/account.js'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import type { AttachmentLimits } from '../domain/send/attachment.js'
import { MIB } from '../domain/units.js'
import {
  chooseSignature,
  PKCS11_EXPECTED,
  type Pkcs11Location,
  readPkcs11Uri,
  type SignatureSetting,
} from '../evidence/signature/key/settings.js'
import {
  AUTHORITIES_EXPECTED,
  type AuthoritySetting,
  EXPORTS_EXPECTED,
  type ExportSetting,
  readAuthorities,
  readExports,
  readWitnesses,
  WITNESSES_EXPECTED,
  type WitnessSetting,
} from '../evidence/targets/settings.js'
import { OBJECT_STORE_EXPECTED, type ObjectStoreSetting, readObjectStore } from '../runtime/objects/settings.js'
import { DATABASE_URL_EXPECTED, readDatabaseUrl } from '../store/database-url.js'
import { findWarnings } from './config-warnings.js'

export interface Config {
  host: string
  port: number
  /** null: run the embedded PostgreSQL. */
  databaseUrl: string | null
  /** The owner of the tables, for migrations; null: the user of databaseUrl. */
  databaseOwnerUrl: string | null
  databasePool: number
  /** A replica for the lists of the console. */
  replicaUrl: string | null
  dataFolder: string
  /** Where recordings and letters are kept; null: in the database. */
  files: ObjectStoreSetting | null
  /** With less free space where the data folder is, nothing is accepted; 0: not watched. */
  minFreeBytes: number
  masterKey: Buffer | null
  /** The key that a rotation brings; null: a file has it, or there is no rotation. */
  nextMasterKey: Buffer | null
  /** Under which backups are encrypted; null: a file has it. */
  backupPassphrase: string | null
  publicUrl: string
  trustedProxies: AddressRange[]
  supportEmail: string
  /** null: none is written. */
  workerAliveFile: string | null
  logLevel: string
  simulator: boolean
  /** Whether messages of any channel leave for the real world: then none of a live token goes to the simulator. */
  hasCarriers: boolean
  /** Where a simulator runs already; null: this start runs its own. */
  simulatorUrl: string | null
  /** The key of that simulator. */
  simulatorKey: string | null
  /** The simulator's ports by protocol; 0: any free one. */
  simulatorPorts: Readonly<Record<string, number | null>>
  /** For the commands that talk HTTP. */
  client: { url: string; token: string | null }
  /** The part of each channel, as its module reads it. */
  channels: Readonly<Record<Channel, ChannelConfig>>
  /** Addresses outside the public Internet that webhooks may reach, and how many days their log is kept. */
  webhooks: { allowedRanges: AddressRange[]; days: number }
  /** Batches: the largest file, how many days the data of lines are kept, and the folder that is watched for files. */
  bulk: { maxBytes: number; days: number; folder: string | null }
  /** Where checkpoints of the log go, who signs them too, and who stamps their time. */
  checkpoints: { exports: ExportSetting[]; witnesses: WitnessSetting[]; authorities: AuthoritySetting[] }
  /** What signs the documents. */
  signature: SignatureSetting
  maxBodyBytes: number
  attachments: AttachmentLimits
  /** Who reads /metrics must show it; null: there is no /metrics. */
  metricsToken: string | null
  /** Where traces go, with what headers, and of which share of the notifications; null: switched off. */
  tracing: { url: string; headers: Record<string, string>; share: number } | null
  /** What is probably not meant, in Portuguese, for whoever starts the program. */
  warnings: readonly string[]
}

const SITE = 'uma URL http:// ou https:// sem caminho, usuário, ? ou #, como https://notifica.example.com'
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/**
 * The only reader of the environment. Every setting is described in .env.example; a test compares the two. A bad setting does not hide
 * the next: every problem is reported, by name, at once.
 */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const problems: string[] = []
  const known = new Set<string>()
  function setting<T>(name: string, fallback: T, expected: string, read: (text: string) => T | null): T {
    known.add(name)
    const text = env[name]?.trim()
    if (text === undefined || text === '') return fallback
    const value = read(text)
    if (value === null) problems.push(`${name} deve ser ${expected}`)
    return value ?? fallback
  }
  const whole = (name: string, fallback: number, least: number, most: number): number =>
    setting(name, fallback, `um número inteiro de ${least} a ${most}`, readWhole(least, most))
  const file = (name: string): string | null => setting<string | null>(name, null, 'um arquivo', text => resolve(text))
  const ranges = (name: string): AddressRange[] =>
    setting<AddressRange[]>(name, [], 'endereços ou faixas CIDR separados por vírgulas', readRanges)
  const carriers: Environment['carriers'] = (name, providers) => {
    const protocols = Object.values(providers).flatMap(provider => provider.protocols)
    const expected = `uma ou mais URLs ${protocols.map(protocol => `${protocol}//`).join(', ')}, separadas por vírgulas`
    return setting<URL[]>(name, [], expected, text => readCarriers(text, protocols))
  }
  const host = setting('HOST', '127.0.0.1', 'um endereço em que escutar', text => (/^[\w.:-]+$/.test(text) ? text : null))
  const port = whole('PORT', 8080, 0, 65_535)
  const folder = process.getuid?.() === 0 ? '/var/lib/carteiro' : './data'
  const dataFolder = resolve(setting('CARTEIRO_DATA', folder, 'uma pasta', text => text))
  const environment: Environment = { dataFolder, setting, whole, carriers }
  const channels = Object.fromEntries(channelModules.map(module => [module.channel, module.readEnvironment(environment)]))
  const hasCarriers = Object.values(channels).some(({ carriers }) => carriers.length > 0)
  const traceUrl = setting<string | null>(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    null,
    'a URL http:// ou https:// do coletor, sem usuário, ? ou #',
    readBase,
  )
  const traceHeaders = setting<Record<string, string>>(
    'OTEL_EXPORTER_OTLP_HEADERS',
    {},
    'cabeçalhos como nome=valor, separados por vírgulas',
    readHeaders,
  )
  const traceShare = setting('OTEL_TRACES_SAMPLER_ARG', 1, 'um número de 0 a 1', text =>
    /^(0|1|0?\.\d{1,9}|1\.0+)$/.test(text) ? Number(text) : null,
  )
  const listenUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const databaseUrl = setting<string | null>('DATABASE_URL', null, DATABASE_URL_EXPECTED, readServers)
  const databaseOwnerUrl = setting<string | null>('DATABASE_OWNER_URL', null, DATABASE_URL_EXPECTED, readServers)
  // Without it the owner's URL would be ignored, and an embedded database be made.
  if (databaseOwnerUrl !== null && !env.DATABASE_URL?.trim())
    problems.push('DATABASE_OWNER_URL pede DATABASE_URL, a URL do mesmo banco para o programa')
  const config: Omit<Config, 'warnings'> = {
    host,
    port,
    databaseUrl,
    databaseOwnerUrl,
    databasePool: whole('DATABASE_POOL', 10, 2, 200),
    replicaUrl: setting<string | null>(
      'DATABASE_REPLICA_URL',
      null,
      'a URL de uma só réplica: postgresql://usuario:senha@replica:5432/banco',
      text => (readDatabaseUrl(text)?.writable === false ? text : null),
    ),
    dataFolder,
    files: setting<ObjectStoreSetting | null>('FILES_URL', null, OBJECT_STORE_EXPECTED, readObjectStore),
    // The disk of another server's database is not ours to see.
    minFreeBytes: whole('DISK_FREE_MIB', databaseUrl === null ? 512 : 0, 0, MIB) * MIB,
    masterKey: setting<Buffer | null>(
      'CARTEIRO_MASTER_KEY',
      null,
      `32 bytes em 64 dígitos hexadecimais ou em base64`,
      readMasterKey,
    ),
    nextMasterKey: setting<Buffer | null>(
      'CARTEIRO_NEXT_MASTER_KEY',
      null,
      `32 bytes em 64 dígitos hexadecimais ou em base64`,
      readMasterKey,
    ),
    backupPassphrase: setting<string | null>('CARTEIRO_BACKUP_PASSPHRASE', null, 'uma senha', withoutBreak),
    publicUrl: setting('PUBLIC_URL', listenUrl, SITE, readSite),
    trustedProxies: ranges('TRUSTED_PROXIES'),
    supportEmail: setting('SUPPORT_EMAIL', 'suporte@localhost', 'um endereço de e-mail', text =>
      /^\S+@\S+$/.test(text) ? text : null,
    ),
    workerAliveFile: setting<string | null>('WORKER_ALIVE_FILE', null, 'o caminho de um arquivo', text => text),
    logLevel: setting('LOG_LEVEL', 'info', `um destes: ${LOG_LEVELS.join(', ')}`, text =>
      LOG_LEVELS.includes(text) ? text : null,
    ),
    hasCarriers,
    simulator: setting('SIMULATOR', !hasCarriers, 'on ou off', text => (text === 'on' ? true : text === 'off' ? false : null)),
    simulatorKey: setting<string | null>('SIMULATOR_KEY', null, 'a chave que o simulador mostrou ao iniciar', text =>
      /^[0-9a-f]{32,128}$/i.test(text) ? text : null,
    ),
    simulatorUrl: setting<string | null>('SIMULATOR_URL', null, 'a URL http:// de um simulador, sem usuário, ? ou #', readBase),
    client: {
      url: setting('CARTEIRO_URL', listenUrl, 'a URL http:// ou https:// da API, sem usuário, ? ou #', readBase),
      token: setting<string | null>('CARTEIRO_TOKEN', null, 'um token', text => text),
    },
    simulatorPorts: Object.fromEntries(
      ['http', ...channelModules.flatMap(({ simulatorPorts = [] }) => simulatorPorts)].map(name => [
        name,
        setting<number | null>(
          `SIMULATOR_${name.toUpperCase()}_PORT`,
          null,
          'um número inteiro de 0 a 65535',
          readWhole(0, 65_535),
        ),
      ]),
    ),
    channels,
    webhooks: { allowedRanges: ranges('WEBHOOK_ALLOWED_RANGES'), days: whole('WEBHOOK_DAYS', 30, 4, 3_650) },
    bulk: {
      maxBytes: whole('BULK_MAX_MIB', 64, 1, 2_048) * MIB,
      days: whole('BULK_DAYS', 30, 1, 3_650),
      folder: setting<string | null>('BULK_FOLDER', null, 'uma pasta', text => resolve(text)),
    },
    checkpoints: {
      exports: setting<ExportSetting[]>('CHECKPOINT_EXPORT', [], EXPORTS_EXPECTED, readExports),
      witnesses: setting<WitnessSetting[]>('CHECKPOINT_WITNESSES', [], WITNESSES_EXPECTED, readWitnesses),
      authorities: setting<AuthoritySetting[]>('TSA_URL', [], AUTHORITIES_EXPECTED, readAuthorities),
    },
    signature: chooseSignature(
      {
        p12File: file('SIGNATURE_P12_FILE'),
        p12Password: setting<string | null>('SIGNATURE_P12_PASSWORD', null, 'uma senha', text => text),
        p12PasswordFile: file('SIGNATURE_P12_PASSWORD_FILE'),
        pkcs11: setting<Pkcs11Location | null>('SIGNATURE_PKCS11', null, PKCS11_EXPECTED, readPkcs11Uri),
        issuersFile: file('SIGNATURE_ISSUERS_FILE'),
      },
      problem => problems.push(problem),
    ),
    maxBodyBytes: whole('MAX_BODY_MIB', 36, 1, 512) * MIB,
    attachments: {
      maxFiles: whole('MAX_ATTACHMENTS', 10, 0, 1_000),
      maxFileBytes: whole('MAX_ATTACHMENT_MIB', 10, 1, 512) * MIB,
      maxTotalBytes: whole('MAX_ATTACHMENTS_MIB', 25, 1, 512) * MIB,
    },
    metricsToken: setting<string | null>('METRICS_TOKEN', null, 'um texto sem espaços, de 16 caracteres ou mais', text =>
      /^[\x21-\x7e]{16,}$/.test(text) ? text : null,
    ),
    tracing: traceUrl === null ? null : { url: `${traceUrl}/v1/traces`, headers: traceHeaders, share: traceShare },
  }
  if (problems.length > 0)
    throw new OperatorError(`A configuração tem erros:\n${problems.map(problem => `  - ${problem}`).join('\n')}`)
  return { ...config, warnings: findWarnings(env, known, config) }
}

/** A secret made of a file often ends with the break of its line. */
const withoutBreak = (text: string): string => text.replace(/\r?\n$/, '')

const readServers = (text: string): string | null => (readDatabaseUrl(text) === null ? null : text.replace(/\/+$/, ''))

/** A URL to which paths are appended, so that it may have no query and no fragment. */
export function readBase(text: string): string | null {
  if (!URL.canParse(text) || /[?#]/.test(text)) return null
  const { protocol, username, password, origin, pathname } = new URL(text)
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') return null
  return origin + pathname.replace(/\/+$/, '')
}

/** Cookies, links and forms name paths from the root, so a site has no path of its own. */
function readSite(text: string): string | null {
  const base = readBase(text)
  return base !== null && base === new URL(base).origin ? base : null
}

function readCarriers(text: string, protocols: readonly string[]): URL[] | null {
  const urls = text.split(',').map(part => (URL.canParse(part.trim()) ? new URL(part.trim()) : null))
  return urls.every(carrier => carrier !== null && protocols.includes(carrier.protocol)) ? (urls as URL[]) : null
}

function readRanges(text: string): AddressRange[] | null {
  const ranges = text.split(',').map(part => readRange(part.trim()))
  return ranges.some(range => range === null) ? null : ranges.map(range => parseRange(range!))
}

/** As OpenTelemetry writes them: values are encoded as in a URL. */
function readHeaders(text: string): Record<string, string> | null {
  const pairs = text.split(',').map(pair => /^\s*([A-Za-z0-9-]+)\s*=\s*([\x21-\x7e]+)\s*$/.exec(pair))
  try {
    return pairs.some(pair => pair === null)
      ? null
      : Object.fromEntries(pairs.map(pair => [pair![1]!.toLowerCase(), decodeURIComponent(pair![2]!)]))
  } catch {
    return null
  }
}
