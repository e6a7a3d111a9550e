import { createHmac } from 'node:crypto'
import { simulatorSecret } from '../../src/domain/access/keys.js'
import type { Callback, CallbackRoute } from '../callbacks.js'
import type { Stamp } from '../message.js'
import type { Act } from './fates.js'
import { titleOf } from './graph-fault.js'
import { PHONE_NUMBER, PHONE_NUMBER_ID, type TemplateMessage } from './template-message.js'

/** The gateway's name for this provider, which is the path of its callbacks. */
const PROVIDER = 'whatsapp-cloud'
const ACCOUNT_ID = '102290129340398'

type Status = Extract<Act, { act: 'sent' | 'delivered' | 'read' | 'failed' }>

export const statusCallback = (message: TemplateMessage, act: Status, route: CallbackRoute, { at }: Stamp): Callback =>
  sign(route, {
    statuses: [
      {
        id: message.wamid,
        status: act.act,
        timestamp: seconds(at),
        recipient_id: message.waId,
        ...(message.reference === null ? {} : { biz_opaque_callback_data: message.reference }),
        ...(act.act === 'failed' ? { errors: [failure(act.code)] } : {}),
      },
    ],
  })

export interface Reply {
  text: string
  button: boolean
  quoting: boolean
}

export const replyCallback = (
  message: TemplateMessage,
  { text, button, quoting }: Reply,
  route: CallbackRoute,
  stamp: Stamp,
): Callback =>
  sign(route, {
    contacts: [{ profile: { name: 'Pessoa simulada' }, wa_id: message.waId }],
    messages: [
      {
        from: message.waId,
        id: wamidOf(stamp.id),
        timestamp: seconds(stamp.at),
        ...(quoting ? { context: { from: PHONE_NUMBER.slice(1), id: message.wamid } } : {}),
        ...(button ? { type: 'button', button: { payload: text, text } } : { type: 'text', text: { body: text } }),
      },
    ],
  })

export const wamidOf = (id: string): string => `wamid.${Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64')}`

const failure = (code: number) => ({
  code,
  title: titleOf(code),
  message: titleOf(code),
  error_data: { details: titleOf(code) },
})

/** X-Hub-Signature-256 covers the bytes of the body. */
function sign({ secret }: CallbackRoute, value: object): Callback {
  const metadata = { display_phone_number: PHONE_NUMBER.slice(1), phone_number_id: PHONE_NUMBER_ID }
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: ACCOUNT_ID, changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, ...value } }] }],
  })
  const signature = createHmac('sha256', simulatorSecret(Buffer.from(secret, 'hex'), PROVIDER))
    .update(body)
    .digest('hex')
  return {
    to: `/${PROVIDER}`,
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    body,
  }
}

const seconds = (at: Date): string => String(Math.floor(at.getTime() / 1_000))
