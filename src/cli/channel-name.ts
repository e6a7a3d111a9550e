import { type Channel, channels } from '../domain/notification.js'
import { channelOf, type WireChannel } from '../http/gw/wire.js'

/** A channel by the API's name (voz, carta) or by the one that commands show (voice, letter). */
export function readChannelName(name: string): Channel | undefined {
  if (Object.hasOwn(channelOf, name)) return channelOf[name as WireChannel]
  return channels.find(channel => channel === name)
}
