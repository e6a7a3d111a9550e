import { readEmailAddress } from '../../domain/text/mail-address.js'
import { isNullExchanger, type MailResolver } from './resolver.js'

type ValidationFailure = 'syntax' | 'domain-missing' | 'no-exchanger' | 'disposable'

/** The reason why the address cannot receive e-mail, or null. Without an answer from DNS the e-mail is sent. */
export async function validateRecipient(
  address: string,
  { resolver }: { resolver: MailResolver },
): Promise<ValidationFailure | null> {
  const read = readEmailAddress(address)
  if (read === null) return 'syntax'
  const [local, domain] = read.split('@') as [string, string]
  if (!isPossibleAt(domain, local)) return 'syntax'
  if (isDisposable(domain)) return 'disposable'
  const mx = await resolver.exchangers(domain)
  if (mx.status === 'missing') return 'domain-missing'
  if (mx.status === 'unknown') return null
  if (isNullExchanger(mx.records)) return 'no-exchanger'
  if (mx.records.length > 0) return null
  // RFC 5321 5.1: without MX records the domain's own address is its exchanger.
  const own = await resolver.addresses(domain)
  return own.status === 'missing' || (own.status === 'ok' && own.records.length === 0) ? 'no-exchanger' : null
}

/** Rules that a mail service publishes about its own addresses and that have no exceptions. */
function isPossibleAt(domain: string, local: string): boolean {
  if (domain !== 'gmail.com' && domain !== 'googlemail.com') return true
  const [name = ''] = local.split('+')
  return /^[a-z0-9.]+$/i.test(name) && name.replaceAll('.', '').length <= 30
}

/** Services with temporary addresses. Their subdomains count too. */
const DISPOSABLE = new Set(
  `10minutemail.com 10minutemail.net 1secmail.com 1secmail.net 1secmail.org 20minutemail.com burnermail.io crazymailing.com
  discard.email dispostable.com emailondeck.com emailtemporal.org fakeinbox.com fakemail.net getairmail.com getnada.com
  grr.la guerrillamail.biz guerrillamail.com guerrillamail.de guerrillamail.info guerrillamail.net guerrillamail.org
  guerrillamailblock.com inboxkitten.com incognitomail.org jetable.org mail-temp.com mailcatch.com maildrop.cc mailexpire.com
  mailinator.com mailinator.net mailinator2.com mailnesia.com mailnull.com mailsac.com mintemail.com moakt.com mohmal.com
  mytemp.email mytrashmail.com nada.email pokemail.net sharklasers.com spam4.me spambog.com spambox.us spamex.com
  spamgourmet.com temp-mail.io temp-mail.org tempail.com tempinbox.com tempmail.com tempmail.net tempmailo.com tempr.email
  throwawaymail.com tmpmail.net tmpmail.org trash-mail.com trashmail.com trashmail.de trashmail.net wegwerfmail.de
  wegwerfmail.net wegwerfmail.org yopmail.com yopmail.fr yopmail.net`.split(/\s+/),
)

function isDisposable(domain: string): boolean {
  const labels = domain.split('.')
  return labels.some((_, index) => DISPOSABLE.has(labels.slice(index).join('.')))
}
