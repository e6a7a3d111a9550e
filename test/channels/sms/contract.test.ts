import { randomUUID } from 'node:crypto'
import type { SmsMessage } from '../../../src/channels/provider.js'
import { smppProvider } from '../../../src/channels/sms/smpp.js'
import { zenviaProvider } from '../../../src/channels/sms/zenvia.js'
import { describeContract } from '../provider-contract.js'

const message = (to: string): SmsMessage => ({ reference: `${randomUUID()}.sms.1`, to, text: `Aviso ${randomUUID()}` })
const fates = { taken: '+5511900000001', refused: '+5511900000006', throttled: '+5511900000005', silent: '+5511900000003' }

describeContract('smpp', {
  provider: () => smppProvider({ onNews: async () => {}, onUnreadable: () => {} }),
  carrier: 'sms',
  message,
  fates,
})

describeContract('zenvia', { provider: zenviaProvider, carrier: 'sms-zenvia', message, fates })
