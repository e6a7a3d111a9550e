import type { Message } from '../message.js'

/** One template message to one phone. */
export interface TemplateMessage extends Message {
  channel: 'whatsapp'
  /** The carrier's id of the message. */
  wamid: string
  /** The recipient's number as WhatsApp writes it. */
  waId: string
  template: string
  language: string
  header: readonly Parameter[]
  body: readonly Parameter[]
  /** The last parts of the addresses of its link buttons. */
  links: readonly string[]
  /** The filled-in text of the template; null: the gateway has no template of this name, and only Meta knows the text. */
  text: string | null
}

export interface Parameter {
  name: string | null
  text: string
}

export const PHONE_NUMBER_ID = '106540352242922'
/** The sender's number. */
export const PHONE_NUMBER = '+5511400000000'
export const VERSION = 'v23.0'

/** The area codes in which WhatsApp writes the ninth digit. */
const NINTH_DIGIT = ['11', '12', '13', '14', '15', '16', '17', '18', '19', '21', '22', '24', '27', '28']

export function waIdOf(number: string): string {
  const [, area, rest] = /^55(\d\d)9(\d{8})$/.exec(number) ?? []
  return area === undefined || NINTH_DIGIT.includes(area) ? number : `55${area}${rest}`
}

/** The subject of the message in lists. */
export const lineOf = ({
  template,
  header,
  body,
  text,
}: Pick<TemplateMessage, 'template' | 'header' | 'body' | 'text'>): string =>
  text ?? [template, [...header, ...body].map(({ text }) => text).join(' · ')].filter(part => part !== '').join(': ')
