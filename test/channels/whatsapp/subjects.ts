import { createHmac } from 'node:crypto'
import { cloudProvider } from '../../../src/channels/whatsapp/cloud.js'
import { cloudCallback } from '../../../src/channels/whatsapp/cloud-callback.js'
import type { WhatsappMessage } from '../../../src/channels/whatsapp/whatsapp-message.js'
import { startHttpSide } from '../scripted-http.js'
import { type ProviderParts, RECIPIENT, type Subject, WAIT_SECONDS } from '../subject.js'
import { whatsapp } from './messages.js'

const TOKEN = 'EAAtoken-do-contrato'
const APP_SECRET = 'segredo-do-aplicativo'
const PHONE = '106540352242922'

const refusal = (code: number): string => JSON.stringify({ error: { message: `(#${code})`, type: 'OAuthException', code } })

/** Meta's callback, signed, with one status for each message. */
async function report(taken: readonly string[], onEvents: ProviderParts['onEvents']): Promise<void> {
  const statuses = taken.map((reference, place) => ({
    id: `wamid.${place + 1}`,
    status: 'delivered',
    timestamp: '1790000000',
    biz_opaque_callback_data: reference,
  }))
  const value = { metadata: { phone_number_id: PHONE }, statuses }
  const body = Buffer.from(JSON.stringify({ entry: [{ id: '1', changes: [{ field: 'messages', value }] }] }))
  const callback = cloudCallback({ appSecret: APP_SECRET, verifyToken: 'token', identityOf: () => 'whatsapp-cloud' })
  const signature = `sha256=${createHmac('sha256', APP_SECRET).update(body).digest('hex')}`
  const headers = { 'x-hub-signature-256': signature }
  const content = await callback.read({ method: 'POST', url: 'https://x.example/callbacks/whatsapp-cloud', headers, body })
  await onEvents(content!.events)
}

export const cloudSubject: Subject<WhatsappMessage> = {
  name: 'whatsapp-cloud',
  channel: 'whatsapp',
  setting: 'WHATSAPP_URL',
  start: () =>
    startHttpSide({
      provider: () => cloudProvider,
      url: port => `whatsapp://${TOKEN}@127.0.0.1:${port}/v23.0/${PHONE}?tls=off`,
      nameOf: ({ body }) => JSON.parse(body).biz_opaque_callback_data,
      accept: number => ({ status: 200, body: JSON.stringify({ messages: [{ id: `wamid.${number}` }] }) }),
      refusals: {
        'refuse for good': { status: 400, body: refusal(131026) },
        'refuse for a while': { status: 500, body: refusal(131000) },
        throttle: { status: 429, body: refusal(130429), headers: { 'retry-after': String(WAIT_SECONDS) } },
      },
      report,
    }),
  request: { whatsapp: { number: RECIPIENT.number } },
  message: reference => whatsapp({ reference, to: RECIPIENT.number }),
  secrets: [TOKEN],
  badUrls: [
    ['whatsapp://graph.facebook.com/v23.0/106540352242922', 'token'],
    [`whatsapp://${TOKEN}@graph.facebook.com/106540352242922`, 'caminho'],
    [`whatsapp://${TOKEN}@graph.facebook.com/v23.0/abc`, 'caminho'],
    [`whatsapp://${TOKEN}@graph.facebook.com/v23.0/106540352242922?pool=0`, 'pool'],
    [`whatsapp://${TOKEN}@graph.facebook.com/v23.0/106540352242922?tls=no`, 'tls'],
    [`whatsapp://${TOKEN}@graph.facebook.com/v23.0/106540352242922?unanswered=replace`, 'unanswered deve ser person ou repeat'],
  ],
  givesNames: true,
  cannot: {},
}
