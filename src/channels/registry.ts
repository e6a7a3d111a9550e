import type { Channel } from '../domain/channel.js'
import { type LinkTarget, readLinkCode } from '../domain/recipient/link.js'
import { REFERENCE_DAYS } from '../domain/retention.js'
import { realProviderOf } from './carrier-name.js'
import type { ChannelModule } from './channel.js'
import type { ChannelContract } from './channel-contract.js'
import { email } from './email/channel.js'
import { letter } from './letter/channel.js'
import type { WhenUnknown } from './provider.js'
import type { ProviderTable } from './provider-module.js'
import { sms } from './sms/channel.js'
import { voice } from './voice/channel.js'
import { whatsapp } from './whatsapp/channel.js'

/** The channels, in the order in which requests, lists and documents show them. */
export const channelModules: readonly ChannelModule[] = [email, sms, whatsapp, voice, letter]

export const channels: readonly Channel[] = channelModules.map(({ channel }) => channel)

/** The uses of blobs that channels keep in tables of their own. */
export const blobUses = channelModules.flatMap(module => module.blobUses ?? [])

/** How long the carriers' references of each channel's messages are kept. */
export const referenceTerms = channelModules.map(({ channel, reportDays = REFERENCE_DAYS }) => ({ channel, days: reportDays }))

const byName = new Map(channelModules.map(module => [module.channel, module]))
const byWire = new Map(channelModules.map(module => [module.wire, module]))

/** The module of a channel that the program itself named. */
export function moduleOf(channel: Channel): ChannelModule {
  const module = byName.get(channel)
  if (module === undefined) throw new Error(`there is no channel ${channel}`)
  return module
}

/** The module of a name that came from outside, where channels have the names of the wire; undefined: there is none. */
export const findModule = (name: string): ChannelModule | undefined => byWire.get(name)

/** The contracts of all channels, in the order of the registry. */
export const loadContracts = async (): Promise<ReadonlyMap<Channel, ChannelContract>> =>
  new Map(await Promise.all(channelModules.map(async module => [module.channel, await module.contract()] as const)))

const byLinkCode = new Map(channelModules.map(module => [module.linkCode, module.channel]))

/** The notification and channel that a link's code names; null: it is not a code of ours, or its channel is gone. */
export function readLinkTarget(key: Buffer, code: string): LinkTarget | null {
  const read = readLinkCode(key, code)
  const channel = read === null ? undefined : byLinkCode.get(read.channelCode)
  return read === null || channel === undefined ? null : { notification: read.notification, channel }
}

/** The fact that a carrier took a message over: one that it produces first, such as a letter, is not sent yet. */
export const takenFact = (channel: Channel): 'sent' | 'processed' =>
  moduleOf(channel).producedFirst === true ? 'processed' : 'sent'

/** The providers as the modules declare them, so that the class is known also where a carrier is no longer configured. */
const providers: ProviderTable = Object.assign({}, ...channelModules.map(module => module.providers))

/** By the carrier's identity. A simulated carrier has the class of the real one; a carrier of no known provider is left to a person. */
export const unknownClassOf = (carrier: string): WhenUnknown => providers[realProviderOf(carrier)]?.whenUnknown ?? 'never'

export const providerNames: readonly string[] = Object.keys(providers)
