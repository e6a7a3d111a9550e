import { type LinkTarget, readLinkCode } from '../domain/link.js'
import { channelModules } from './registry.js'

const byCode = new Map(channelModules.map(module => [module.linkCode, module.channel]))

/** The notification and channel that a link's code names; null: it is not a code of ours, or its channel is gone. */
export function readLinkTarget(key: Buffer, code: string): LinkTarget | null {
  const read = readLinkCode(key, code)
  const channel = read === null ? undefined : byCode.get(read.channelCode)
  return read === null || channel === undefined ? null : { notification: read.notification, channel }
}
