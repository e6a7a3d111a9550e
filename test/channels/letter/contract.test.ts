import { describeContract } from '../contract.js'
import { eCartaSubject, printShopSubject } from './subjects.js'

describeContract(printShopSubject)

describeContract(eCartaSubject)
