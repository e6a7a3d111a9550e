import { describeContract } from '../contract.js'
import { smppSubject, zenviaSubject } from './subjects.js'

describeContract(smppSubject)

describeContract(zenviaSubject)
