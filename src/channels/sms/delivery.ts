import { planParts } from '../../domain/delivery/message-parts.js'
import { findVersionContent } from '../../store/accounts/templates.js'
import type { ChannelDelivery, ChannelRuntime, DeliveryContext, RuntimeContext } from '../channel-runtime.js'
import { createRendering, type Rendering } from '../rendering.js'
import { sms } from './channel.js'
import { createSmsPreparation } from './preparation.js'
import type { SmsMessage } from './sms-message.js'

export const smsRuntime: ChannelRuntime = {
  openDelivery,
  openPreview(context) {
    const prepare = createSmsPreparation({ ...context, render: renderingOf(context) })
    return {
      async show(claim) {
        const message = await prepare(claim)
        return 'refused' in message ? message : { kind: 'parts', text: message.text, ...planParts(message.text) }
      },
      async countUnits(claim) {
        const message = await prepare(claim)
        return 'refused' in message ? 0 : planParts(message.text).parts.length
      },
    }
  },
}

const renderingOf = ({ pool, templates }: RuntimeContext): Rendering =>
  createRendering(sms, templates, (id, version) => findVersionContent(pool, id, version))

async function openDelivery(context: DeliveryContext): Promise<ChannelDelivery<SmsMessage>> {
  const { publicUrl, shortLink, warn } = context
  const onUnreadable = (err: unknown): void => warn({ err }, 'an SMS carrier said something that cannot be read')
  return {
    partsOf: (_, { onEvents }) => ({ onEvents, onUnreadable }),
    prepare: () =>
      createSmsPreparation({
        publicUrl,
        shortLink,
        render: renderingOf(context),
      }),
  }
}
