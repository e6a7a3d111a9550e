import { describe } from 'vitest'
import { describeContract } from '../contract.js'
import { canCallOverSip, sipSubject, twilioSubject } from './subjects.js'

describeContract(twilioSubject)

describe.skipIf(!canCallOverSip)('with baresip and espeak-ng,', () => {
  describeContract(sipSubject)
})
