import { describeContract } from '../contract.js'
import { mxSubject, smtpSubject } from './subjects.js'

describeContract(smtpSubject)

describeContract(mxSubject)
