import type { CommandContext } from '../channels/channel.js'
import { audit, withDatabase } from './administration.js'
import { printList, printRecord } from './output.js'

/** What the commands of channels share with the others. */
export const commandContext: CommandContext = { withDatabase, audit, printRecord, printList }
