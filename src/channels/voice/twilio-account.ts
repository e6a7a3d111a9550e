import { OperatorError } from '../../domain/errors.js'
import { readCredential } from '../url-options.js'

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

const EXAMPLE = 'twilio://CONTA:TOKEN@api.twilio.com?from=+551140041234'
const OPTIONS = ['from', 'machine', 'record', 'ring', 'voice', 'tls', 'rate']

/** Throws OperatorError, which names the setting and never shows its secrets. */
export function readTwilioAccount(url: URL): TwilioAccount {
  const { searchParams: given } = url
  const wrong = (problem: string): never => {
    throw new OperatorError(`VOICE_URL: ${problem} (exemplo: ${EXAMPLE}).`)
  }
  const unknown = [...given.keys()].find(name => !OPTIONS.includes(name))
  if (unknown !== undefined) wrong(`a opção ${unknown} não existe; use ${OPTIONS.join(', ')}`)
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
  const ring = given.get('ring') ?? '30'
  const ringSeconds = /^\d{1,3}$/.test(ring) ? Number(ring) : 0
  if (ringSeconds < 5 || ringSeconds > 600) wrong('ring deve ser de 5 a 600 segundos')
  return {
    sid,
    token,
    baseUrl: `${isOn('tls') ? 'https' : 'http'}://${url.host}/2010-04-01/Accounts/${encodeURIComponent(sid)}`,
    from,
    machine: isOn('machine'),
    record: isOn('record'),
    ringSeconds,
    voice: given.get('voice'),
  }
}

export const basicAuth = ({ sid, token }: TwilioAccount): string => `Basic ${Buffer.from(`${sid}:${token}`).toString('base64')}`
