import { OperatorError } from '../../domain/errors.js'
import { findVersionContent, isRetiredTemplate } from '../../store/accounts/templates.js'
import type { ChannelDelivery, ChannelRuntime, DeliveryContext, PreviewContext } from '../channel-runtime.js'
import type { ChannelPreview } from '../preview.js'
import { createRendering } from '../rendering.js'
import { type WhatsappConfig, whatsapp } from './channel.js'
import type { CloudSecrets } from './cloud.js'
import { createWhatsappPreparation } from './preparation.js'
import { createTextShower } from './simulated-text.js'
import type { WhatsappMessage } from './whatsapp-message.js'

export const whatsappRuntime: ChannelRuntime<WhatsappConfig> = {
  openDelivery,
  openPreview,
  callbackParts: ({ config }) => readSecrets(config),
}

async function openDelivery(context: DeliveryContext<WhatsappConfig>): Promise<ChannelDelivery<WhatsappMessage>> {
  const { config, pool, publicUrl, shortLink, templates, simulatorAddress } = context
  readSecrets(config)
  return {
    partsOf: () => ({}),
    prepare: ({ simulatorUrl }) =>
      createWhatsappPreparation({
        ...(simulatorUrl === null ? {} : { showText: createTextShower(simulatorUrl, () => simulatorAddress(whatsapp.channel)) }),
        rendering: createRendering(whatsapp, templates, (id, version) => findVersionContent(pool, id, version)),
        shortLink,
        publicUrl,
        isRetired: (sender, name) => isRetiredTemplate(pool, sender, whatsapp.channel, name),
      }),
  }
}

function openPreview({ pool, publicUrl, shortLink, templates }: PreviewContext<WhatsappConfig>): ChannelPreview {
  return {
    async show(claim) {
      let shown: string | null = null
      const prepare = createWhatsappPreparation({
        rendering: createRendering(whatsapp, templates, (id, version) => findVersionContent(pool, id, version)),
        shortLink,
        publicUrl,
        isRetired: (sender, name) => isRetiredTemplate(pool, sender, whatsapp.channel, name),
        showText: async (_, text) => {
          shown = text
        },
      })
      const message = await prepare(claim)
      if ('refused' in message) return message
      const { template, header, body, buttons } = message
      return { kind: 'bubble', template, text: shown, values: [...header, ...body], hasButton: buttons.length > 0 }
    },
  }
}

/** Without the secrets no report of the carrier could be believed, and no message would ever be delivered or read. */
function readSecrets({ carriers, appSecret, verifyToken }: WhatsappConfig): CloudSecrets {
  const missing = appSecret === null ? 'WHATSAPP_APP_SECRET' : verifyToken === null ? 'WHATSAPP_VERIFY_TOKEN' : null
  if (carriers.length > 0 && missing !== null)
    throw new OperatorError(`Com WHATSAPP_URL é preciso definir também ${missing}. Veja docs/whatsapp.md.`)
  return { appSecret, verifyToken }
}
