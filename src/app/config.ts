import { resolve } from 'node:path'
import type { ChannelConfig, Environment } from '../channels/channel.js'
import { channelModules } from '../channels/registry.js'
import { whole as readWhole } from '../domain/account.js'
import { type AddressRange, parseRange, readRange } from '../domain/address-range.js'
import type { AttachmentLimits } from '../domain/attachment.js'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import { readMasterKey } from '../domain/keys.js'
import { findWarnings } from './config-warnings.js'

/** The only reader of the environment. Every setting is described in .env.example; a test compares the two. */
export interface Config {
  host: string
  port: number
  /** null: run the embedded PostgreSQL. */
  databaseUrl: string | null
  /** The owner of the tables, for migrations; null: the user of databaseUrl. */
  databaseOwnerUrl: string | null
  databasePool: number
  dataFolder: string
  masterKey: Buffer | null
  publicUrl: string
  trustedProxies: AddressRange[]
  supportEmail: string
  logLevel: string
  simulator: boolean
  /** Whether messages of any channel leave for the real world: then none of a live token goes to the simulator. */
  hasCarriers: boolean
  /** Where a simulator runs already; null: this start runs its own. */
  simulatorUrl: string | null
  /** The key of that simulator. */
  simulatorKey: string | null
  /** The simulator's ports by protocol; 0: any free one. */
  simulatorPorts: Readonly<Record<string, number>>
  /** For the commands that talk HTTP. */
  client: { url: string; token: string | null }
  /** The part of each channel, as its module reads it. */
  channels: Readonly<Record<Channel, ChannelConfig>>
  /** Addresses outside the public Internet that webhooks may reach, and how many days their log is kept. */
  webhooks: { allowedRanges: AddressRange[]; days: number }
  maxBodyBytes: number
  attachments: AttachmentLimits
  /** Who reads /metrics must show it; null: there is no /metrics. */
  metricsToken: string | null
  /** What is probably not meant, in Portuguese, for whoever starts the program. */
  warnings: readonly string[]
}

const MIB = 1_048_576
const SITE = 'uma URL http:// ou https:// sem caminho, usuário, ? ou #, como https://notifica.example.com'
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

/** Reads all settings; a bad one does not hide the next: every problem is reported, by name, at once. */
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
  const listenUrl = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const config: Omit<Config, 'warnings'> = {
    host,
    port,
    databaseUrl: setting<string | null>('DATABASE_URL', null, 'uma URL postgresql://', readDatabaseUrl),
    databaseOwnerUrl: setting<string | null>('DATABASE_OWNER_URL', null, 'uma URL postgresql://', readDatabaseUrl),
    databasePool: whole('DATABASE_POOL', 10, 2, 200),
    dataFolder,
    masterKey: setting<Buffer | null>(
      'CARTEIRO_MASTER_KEY',
      null,
      `32 bytes em 64 dígitos hexadecimais ou em base64`,
      readMasterKey,
    ),
    publicUrl: setting('PUBLIC_URL', listenUrl, SITE, readSite),
    trustedProxies: ranges('TRUSTED_PROXIES'),
    supportEmail: setting('SUPPORT_EMAIL', 'suporte@localhost', 'um endereço de e-mail', text =>
      /^\S+@\S+$/.test(text) ? text : null,
    ),
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
        whole(`SIMULATOR_${name.toUpperCase()}_PORT`, 0, 0, 65_535),
      ]),
    ),
    channels,
    webhooks: { allowedRanges: ranges('WEBHOOK_ALLOWED_RANGES'), days: whole('WEBHOOK_DAYS', 30, 4, 3_650) },
    maxBodyBytes: whole('MAX_BODY_MIB', 36, 1, 512) * MIB,
    attachments: {
      maxFiles: whole('MAX_ATTACHMENTS', 10, 0, 1_000),
      maxFileBytes: whole('MAX_ATTACHMENT_MIB', 10, 1, 512) * MIB,
      maxTotalBytes: whole('MAX_ATTACHMENTS_MIB', 25, 1, 512) * MIB,
    },
    metricsToken: setting<string | null>('METRICS_TOKEN', null, 'um texto sem espaços, de 16 caracteres ou mais', text =>
      /^[\x21-\x7e]{16,}$/.test(text) ? text : null,
    ),
  }
  if (problems.length > 0)
    throw new OperatorError(`A configuração tem erros:\n${problems.map(problem => `  - ${problem}`).join('\n')}`)
  return { ...config, warnings: findWarnings(env, known, config) }
}

const readDatabaseUrl = (text: string): string | null =>
  URL.canParse(text) && ['postgres:', 'postgresql:'].includes(new URL(text).protocol) ? text.replace(/\/+$/, '') : null

/** A URL to which paths are appended, so that it may have no query and no fragment. */
function readBase(text: string): string | null {
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
