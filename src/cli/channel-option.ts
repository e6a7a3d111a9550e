import { Option } from 'commander'
import { channels } from '../channels/registry.js'

/** --channel, with the names that commands show. */
export const channelOption = (description: string): Option => new Option('--channel <canal>', description).choices(channels)
