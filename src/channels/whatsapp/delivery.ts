import { OperatorError } from '../../domain/errors.js'
import { simulatorSecret } from '../../domain/keys.js'
import { findVersionContent, isRetiredTemplate } from '../../store/templates.js'
import type { CallbackContext, CallbackReaders, ChannelDelivery, ChannelRuntime, DeliveryContext } from '../channel.js'
import { createRendering } from '../rendering.js'
import { type WhatsappConfig, whatsapp } from './channel.js'
import { CLOUD_NAME, cloudProvider, readCloudUrl } from './cloud.js'
import { cloudCallback } from './cloud-callback.js'
import { createWhatsappPreparation } from './preparation.js'
import type { WhatsappMessage } from './whatsapp-message.js'

/** The next message is ready when a connection is; more would use up their time while they wait for a slow carrier. */
const MESSAGES_PER_CONNECTION = 2

export const whatsappRuntime: ChannelRuntime<WhatsappConfig> = { openDelivery, callbacks }

async function openDelivery(context: DeliveryContext<WhatsappConfig>): Promise<ChannelDelivery<WhatsappMessage>> {
  const { config, pool, publicUrl, shortLink } = context
  readSecrets(config)
  return {
    concurrency: url => MESSAGES_PER_CONNECTION * readCloudUrl(url).connections,
    provider: () => cloudProvider,
    prepare: () =>
      createWhatsappPreparation({
        rendering: createRendering(whatsapp, (id, version) => findVersionContent(pool, id, version)),
        shortLink,
        publicUrl,
        isRetired: (account, name) => isRetiredTemplate(pool, account, whatsapp.channel, name),
      }),
  }
}

function callbacks({ config, keys, simulator }: CallbackContext<WhatsappConfig>): CallbackReaders {
  const secrets = readSecrets(config)
  const phoneNumberIds = new Set(config.carriers.map(url => readCloudUrl(url).phoneNumberId))
  // The simulator has one number, and nobody else knows the secret.
  const secret = simulatorSecret(keys.simulator, CLOUD_NAME)
  return {
    real: secrets === null ? [] : [cloudCallback({ ...secrets, phoneNumberIds })],
    simulated: simulator ? [cloudCallback({ appSecret: secret, verifyToken: secret, phoneNumberIds: null })] : [],
  }
}

/** Without the secrets no report of the carrier could be believed, and no message would ever be delivered or read. */
function readSecrets({ carriers, appSecret, verifyToken }: WhatsappConfig) {
  if (carriers.length === 0) return null
  if (appSecret === null || verifyToken === null) {
    const missing = appSecret === null ? 'WHATSAPP_APP_SECRET' : 'WHATSAPP_VERIFY_TOKEN'
    throw new OperatorError(`Com WHATSAPP_URL é preciso definir também ${missing}. Veja docs/whatsapp.md.`)
  }
  return { appSecret, verifyToken }
}
