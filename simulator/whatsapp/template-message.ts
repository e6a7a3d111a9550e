import type { Message } from '../message.js'

/** One template message as it reached one phone. */
export interface TemplateMessage extends Message {
  channel: 'whatsapp'
  /** The carrier's name for it. */
  wamid: string
  /** How WhatsApp writes the number. */
  waId: string
  template: string
  language: string
  header: readonly Parameter[]
  body: readonly Parameter[]
  /** What completes the addresses of its link buttons. */
  links: readonly string[]
}

export interface Parameter {
  name: string | null
  text: string
}

/** The sender's number at the simulated carrier. */
export const PHONE_NUMBER_ID = '106540352242922'
export const PHONE_NUMBER = '+5511400000000'
export const TOKEN = 'simulador'
export const VERSION = 'v23.0'

/** Area codes whose numbers WhatsApp knows with the ninth digit; elsewhere it usually lacks it. */
const NINTH_DIGIT = ['11', '12', '13', '14', '15', '16', '17', '18', '19', '21', '22', '24', '27', '28']

export function waIdOf(number: string): string {
  const [, area, rest] = /^55(\d\d)9(\d{8})$/.exec(number) ?? []
  return area === undefined || NINTH_DIGIT.includes(area) ? number : `55${area}${rest}`
}

/** One line for lists. */
export const lineOf = (template: string, header: readonly Parameter[], body: readonly Parameter[]): string =>
  [template, [...header, ...body].map(({ text }) => text).join(' · ')].filter(part => part !== '').join(': ')
