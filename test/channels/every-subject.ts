import { mxSubject, smtpSubject } from './email/subjects.js'
import { eCartaSubject, printShopSubject } from './letter/subjects.js'
import { smppSubject, zenviaSubject } from './sms/subjects.js'
import type { Subject } from './subject.js'
import { canCallOverSip, sipSubject, twilioSubject } from './voice/subjects.js'
import { cloudSubject } from './whatsapp/subjects.js'

/** Every provider of the gateway, for tests of what is true of all of them. */
export const everySubject = [
  smtpSubject,
  mxSubject,
  smppSubject,
  zenviaSubject,
  cloudSubject,
  twilioSubject,
  sipSubject,
  printShopSubject,
  eCartaSubject,
] as readonly Subject<unknown>[]

/** Whether this machine has the programs that a provider needs. */
export const canRun = ({ name }: Pick<Subject<unknown>, 'name'>): boolean => name !== sipSubject.name || canCallOverSip
