import { OperatorError } from '../../domain/errors.js'
import { integerReader, readCredential, refuseUnknown } from '../url-options.js'

/** The account of a Twilio-compatible carrier in VOICE_URL: twilio://ACCOUNT_SID:AUTH_TOKEN@HOST?from=+55… */
export interface TwilioAccount {
  sid: string
  token: string
  /** The address of the account's resources, without a slash at its end. */
  baseUrl: string
  /** The calling number, E.164. */
  from: string
  /** Whether the carrier detects answering machines. */
  machine: boolean
  record: boolean
  ringSeconds: number
  voice: string | null
}

/** Throws OperatorError, which names the setting and never shows its secrets. */
export function readTwilioAccount(url: URL): TwilioAccount {
  const { searchParams: given } = url
  const wrong = (problem: string): never => {
    throw new OperatorError(`VOICE_URL: ${problem} (exemplo: twilio://CONTA:TOKEN@api.twilio.com?from=+551140041234).`)
  }
  refuseUnknown(url, ['from', 'machine', 'record', 'ring', 'voice', 'tls', 'rate'], wrong)
  const isOn = (name: string): boolean => {
    const value = given.get(name) ?? 'on'
    return value === 'on' || (value === 'off' ? false : wrong(`${name} deve ser on ou off`))
  }
  const sid = readCredential(url.username, wrong)
  const token = readCredential(url.password, wrong)
  if (sid === '' || token === '' || url.hostname === '') wrong('faltam a conta, o token ou o servidor')
  // In a query a plus sign stands for a blank.
  const from = (given.get('from') ?? '').replace(/^ /, '+')
  if (!/^\+\d{8,15}$/.test(from)) wrong('from deve ser o número de origem, com + e código do país')
  return {
    sid,
    token,
    baseUrl: `${isOn('tls') ? 'https' : 'http'}://${url.host}/2010-04-01/Accounts/${encodeURIComponent(sid)}`,
    from,
    machine: isOn('machine'),
    record: isOn('record'),
    ringSeconds: integerReader(url, wrong)('ring', 30, 5, 600),
    voice: given.get('voice'),
  }
}

export const basicAuth = ({ sid, token }: TwilioAccount): string => `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`
