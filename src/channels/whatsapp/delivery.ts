import type { Config } from '../../app/config.js'
import type { ChannelWiring } from '../../app/lanes.js'
import { OperatorError } from '../../domain/errors.js'
import { type Keys, simulatorSecret } from '../../domain/keys.js'
import type { ShortLinks } from '../../engine/recipient/short-links.js'
import type { Pool } from '../../store/postgres.js'
import { findVersionContent, isRetiredTemplate } from '../../store/templates.js'
import type { Callback, WhatsappMessage } from '../provider.js'
import { createRendering } from '../rendering.js'
import { CLOUD_NAME, cloudProvider, readCloudUrl } from './cloud.js'
import { cloudCallback } from './cloud-callback.js'
import { createWhatsappPreparation } from './preparation.js'

export interface WhatsappWiring {
  config: Config
  pool: Pool
  shortLink: ShortLinks
}

/** The next message is ready when a connection is; more would use up their time while they wait for a slow carrier. */
const MESSAGES_PER_CONNECTION = 2

export function wireWhatsapp({ config, pool, shortLink }: WhatsappWiring): ChannelWiring<WhatsappMessage> {
  readSecrets(config)
  return {
    channel: 'whatsapp',
    carriers: config.whatsapp.carriers,
    concurrency: url => MESSAGES_PER_CONNECTION * readCloudUrl(url).connections,
    provider: () => cloudProvider,
    prepare: () =>
      createWhatsappPreparation({
        rendering: createRendering((id, version) => findVersionContent(pool, id, version)),
        shortLink,
        publicUrl: config.publicUrl,
        isRetired: (account, name) => isRetiredTemplate(pool, account, 'whatsapp', name),
      }),
  }
}

export function realWhatsappCallbacks(config: Config): Callback[] {
  const secrets = readSecrets(config)
  if (secrets === null) return []
  const phoneNumberIds = new Set(config.whatsapp.carriers.map(url => readCloudUrl(url).phoneNumberId))
  return [cloudCallback({ ...secrets, phoneNumberIds })]
}

/** The simulator has one number, and nobody else knows the secret. */
export function simulatedWhatsappCallbacks({ simulator }: Keys): Callback[] {
  const secret = simulatorSecret(simulator, CLOUD_NAME)
  return [cloudCallback({ appSecret: secret, verifyToken: secret, phoneNumberIds: null })]
}

/** Without them nothing that the carrier reports could be believed, and no message would ever be delivered or read. */
function readSecrets({ whatsapp: { carriers, appSecret, verifyToken } }: Config) {
  if (carriers.length === 0) return null
  if (appSecret === null || verifyToken === null) {
    const missing = appSecret === null ? 'WHATSAPP_APP_SECRET' : 'WHATSAPP_VERIFY_TOKEN'
    throw new OperatorError(`Com WHATSAPP_URL é preciso definir também ${missing}. Veja docs/whatsapp.md.`)
  }
  return { appSecret, verifyToken }
}
