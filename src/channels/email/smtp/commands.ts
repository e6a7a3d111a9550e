import { isAscii } from 'node:buffer'
import { SendError } from '../../provider.js'
import { isSafeAddress } from '../message/compose.js'
import type { Stage } from './reply.js'

export interface Envelope {
  from: string
  to: string
  /** The ENVID parameter (RFC 3461), which delivery reports repeat. */
  id: string
}

/** The commands of one SMTP transaction, with the parameters that the server's extensions allow. */
export function transaction(
  { from, to, id }: Envelope,
  message: Buffer,
  extensions: ReadonlyMap<string, string>,
  reset: boolean,
): { stage: Stage; line: string }[] {
  for (const address of [from, to]) {
    if (!isSafeAddress(address)) throw new SendError('permanent', 'O endereço não é um endereço de e-mail válido.')
  }
  const has = (extension: string): boolean => extensions.has(extension)
  const limit = Number(extensions.get('SIZE'))
  if (limit > 0 && message.length > limit) {
    const answer = `SIZE ${limit}: ${message.length}`
    throw new SendError('permanent', 'A mensagem é grande demais para o servidor de e-mail.', { answer })
  }
  const eightBit = !isAscii(message)
  const international = !isAscii(Buffer.from(from + to)) || (eightBit && !isAscii(headersOf(message)))
  if (international && !has('SMTPUTF8')) {
    throw new SendError('permanent', 'O servidor de e-mail não aceita endereços com letras fora do ASCII.')
  }
  if (eightBit && !has('8BITMIME')) throw new SendError('permanent', 'O servidor de e-mail não aceita mensagens de 8 bits.')
  const mail = [
    `MAIL FROM:<${from}>`,
    has('SIZE') ? `SIZE=${message.length}` : '',
    eightBit ? 'BODY=8BITMIME' : '',
    international ? 'SMTPUTF8' : '',
    has('DSN') ? `RET=HDRS ENVID=${xtext(id)}` : '',
  ]
  const original = isAscii(Buffer.from(to)) ? `rfc822;${xtext(to)}` : `utf-8;${utf8Xtext(to)}`
  const rcpt = [`RCPT TO:<${to}>`, has('DSN') ? `NOTIFY=SUCCESS,FAILURE,DELAY ORCPT=${original}` : '']
  const line = (words: string[]): string => `${words.filter(word => word !== '').join(' ')}\r\n`
  return [
    ...(reset ? [{ stage: 'sender' as const, line: 'RSET\r\n' }] : []),
    { stage: 'sender', line: line(mail) },
    { stage: 'recipient', line: line(rcpt) },
    { stage: 'data', line: 'DATA\r\n' },
  ]
}

/** RFC 3461 4: writes + and = and every byte outside visible ASCII as +XX. */
const xtext = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^!-*,-<>-~]/g, character => `+${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** RFC 6533 3: writes characters outside xtext as \x{…}. */
const utf8Xtext = (text: string): string =>
  text.replace(/[^!-*,-<>-[\]-~]/gu, character => `\\x{${character.codePointAt(0)!.toString(16).toUpperCase()}}`)

const headersOf = (message: Buffer): Buffer => message.subarray(0, message.indexOf('\r\n\r\n') + 2)

/**
 * RFC 5321 4.5.2: doubles the dot at the start of a line. Every line break becomes CRLF, because servers disagree whether a
 * lone CR or LF ends a message, which lets one message smuggle in another.
 */
export function stuffDots(message: Buffer): Buffer {
  if (isClean(message)) return message
  const lines = message.toString('latin1').split(/\r\n|\r|\n/)
  if (lines.at(-1) === '') lines.pop()
  const stuffed = lines.map(line => (line.startsWith('.') ? `.${line}` : line))
  return Buffer.from(`${stuffed.join('\r\n')}\r\n`, 'latin1')
}

/** Whether the message needs no change. Almost every message passes, and the check is cheaper than a rewrite. */
function isClean(message: Buffer): boolean {
  if (message[0] === 0x2e || message.at(-1) !== 0x0a) return false
  let start = 0
  while (start < message.length) {
    const cr = message.indexOf(0x0d, start)
    const lf = message.indexOf(0x0a, start)
    if (cr + 1 !== lf || message[lf + 1] === 0x2e) return false
    start = lf + 1
  }
  return true
}
