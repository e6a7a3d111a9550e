import { simulatorSecret } from '../../domain/keys.js'
import type { CallbackContext, CallbackReaders, ChannelDelivery, ChannelRuntime, DeliveryContext } from '../channel.js'
import { createSmsPreparation } from './preparation.js'
import { smppProvider } from './smpp.js'
import type { SmsMessage } from './sms-message.js'
import { readZenviaUrl, ZENVIA, zenviaCallback, zenviaProvider } from './zenvia.js'

/** The submit window of one connection, where the URL names none. */
const WINDOW = 50

export const smsRuntime: ChannelRuntime = { openDelivery, callbacks }

async function openDelivery({ publicUrl, shortLink, warn }: DeliveryContext): Promise<ChannelDelivery<SmsMessage>> {
  const onUnreadable = (err: unknown): void => warn({ err }, 'an SMS carrier said something that cannot be read')
  return {
    // Twice the window: the next message is ready when there is room. A bad number is refused when the carrier is opened.
    concurrency: url => 2 * Number(url.searchParams.get('window') ?? WINDOW),
    provider: (url, { onEvents }) => (isZenvia(url) ? zenviaProvider() : smppProvider({ onEvents, onUnreadable })),
    prepare: () => createSmsPreparation({ publicUrl, shortLink }),
  }
}

function callbacks({ config, keys, simulator }: CallbackContext): CallbackReaders {
  const secrets = config.carriers.filter(isZenvia).map(url => readZenviaUrl(url).secret)
  return {
    real: secrets.length > 0 ? [zenviaCallback(secrets)] : [],
    simulated: simulator ? [zenviaCallback([simulatorSecret(keys.simulator, ZENVIA)])] : [],
  }
}

const isZenvia = ({ protocol }: URL): boolean => protocol === 'zenvia:'
