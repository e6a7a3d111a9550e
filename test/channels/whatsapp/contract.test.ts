import { cloudProvider } from '../../../src/channels/whatsapp/cloud.js'
import { simulatorForTest } from '../../simulator/carriers.js'
import { describeContract } from '../contract.js'
import { whatsapp } from './messages.js'

describeContract({
  provider: cloudProvider,
  channel: 'whatsapp',
  simulator: () => simulatorForTest(),
  named: true,
  taken: reference => whatsapp({ reference }),
  refused: {
    permanent: reference => whatsapp({ reference, to: '+5511900000015' }),
    throttled: reference => whatsapp({ reference, to: '+5511900000021' }),
    temporary: reference => whatsapp({ reference, to: '+5511900000022' }),
  },
})
