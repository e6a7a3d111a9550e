import type { Mode } from '../../../domain/access/token.js'
import { identifyCarrier, simulatedName } from '../../carrier-name.js'
import type { DeliveryContext } from '../../channel-runtime.js'
import type { Carrier } from '../../provider.js'
import { type EmailConfig, email } from '../channel.js'
import type { EmailMessage } from '../email-message.js'

/** A carrier and the name by which it is held back. */
export interface ForwardCarrier {
  identity: string
  carrier: Carrier<EmailMessage>
}

/**
 * The channel's carriers, opened once more for forwarded replies, when the first one is to be forwarded: the same as those of the lanes, so
 * that a reply to a test message never leaves the simulator.
 */
export function openForwardCarriers(context: DeliveryContext<EmailConfig>, partsOf: (simulatorUrl: string | null) => object) {
  const { config, hasCarriers, simulatorUrl, simulatorAddress } = context
  const opened = new Map<Mode, Promise<ForwardCarrier[]>>()

  async function open(mode: Mode): Promise<ForwardCarrier[]> {
    const isReal = mode === 'live' && hasCarriers
    const address = isReal ? null : await simulatorAddress(email.channel)
    const urls = isReal ? config.carriers : address === null ? [] : [address]
    const parts = partsOf(isReal ? null : simulatorUrl)
    return Promise.all(
      urls.map(async url => {
        const [name, provider] = Object.entries(email.providers).find(([, { protocols }]) => protocols.includes(url.protocol))!
        const loaded = await provider.load()
        const carrier = (await loaded.create(parts).open(url)) as Carrier<EmailMessage>
        return {
          identity: isReal ? identifyCarrier({ name, ...loaded }, url) : simulatedName(name),
          carrier,
        }
      }),
    )
  }

  return {
    of(mode: Mode): Promise<ForwardCarrier[]> {
      const known = opened.get(mode) ?? open(mode)
      opened.set(mode, known)
      // A simulator that could not be reached is asked again.
      known.then(
        carriers => carriers.length === 0 && opened.delete(mode),
        () => opened.delete(mode),
      )
      return known
    },
    async close(): Promise<void> {
      const carriers = await Promise.allSettled(opened.values())
      await Promise.all(
        carriers.flatMap(result => (result.status === 'fulfilled' ? result.value.map(({ carrier }) => carrier.close()) : [])),
      )
    },
  }
}
