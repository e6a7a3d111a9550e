import type { SmsMessage } from '../../../src/channels/provider.js'
import { smppProvider } from '../../../src/channels/sms/smpp.js'
import { zenviaProvider } from '../../../src/channels/sms/zenvia.js'
import { simulatorForTest } from '../../simulator/carriers.js'
import { describeContract } from '../contract.js'

const to =
  (number: string) =>
  (reference: string): SmsMessage => ({ reference, to: number, text: `Aviso ${reference}` })

const sms = {
  channel: 'sms',
  simulator: () => simulatorForTest(),
  named: true,
  taken: to('+5511900000001'),
  silent: to('+5511900000003'),
  refused: { permanent: to('+5511900000006'), throttled: to('+5511900000005') },
}

describeContract({ ...sms, provider: smppProvider({ onEvents: async () => {}, onUnreadable: () => {} }), carrier: 'sms' })

describeContract({ ...sms, provider: zenviaProvider(), carrier: 'sms-zenvia' })
