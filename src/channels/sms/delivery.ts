import type { ChannelDelivery, ChannelRuntime, DeliveryContext } from '../channel.js'
import { createSmsPreparation } from './preparation.js'
import type { SmsMessage } from './sms-message.js'

export const smsRuntime: ChannelRuntime = { openDelivery }

async function openDelivery({ publicUrl, shortLink, warn }: DeliveryContext): Promise<ChannelDelivery<SmsMessage>> {
  const onUnreadable = (err: unknown): void => warn({ err }, 'an SMS carrier said something that cannot be read')
  return {
    partsOf: (_, { onEvents }) => ({ onEvents, onUnreadable }),
    prepare: () => createSmsPreparation({ publicUrl, shortLink }),
  }
}
