import type { ChannelDeclaration } from './channel.js'
import { email } from './email/channel.js'
import { letter } from './letter/channel.js'
import { sms } from './sms/channel.js'
import { voice } from './voice/channel.js'
import { whatsapp } from './whatsapp/channel.js'

export const CHANNELS: readonly ChannelDeclaration[] = [email, sms, whatsapp, voice, letter]
