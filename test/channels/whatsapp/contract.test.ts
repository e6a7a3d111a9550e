import { describeContract } from '../contract.js'
import { cloudSubject } from './subjects.js'

describeContract(cloudSubject)
