import { refuse } from '../../src/domain/errors.js'
import type { Message } from '../message.js'
import type { PostEvent } from './fates.js'

export interface Letter extends Message {
  order: LetterOrder
  /** The post's tracking code; null before the posting and for letters that are not registered. */
  code: string | null
  tracking: TrackingEntry[]
}

export interface TrackingEntry extends PostEvent {
  at: Date
}

export interface LetterOrder {
  reference: string
  layout: string
  subject: string
  recipient: Place
  sender: Place
  pages: number
}

export interface Place {
  name: string
  street: string
  number: string
  complement: string
  district: string
  city: string
  state: string
  postcode: string
}

/** Reads an order in the format of docs/carta.md. A refusal names the field. */
export function readOrder(body: Record<string, unknown>): { order: LetterOrder; pdf: Buffer; sha256: string } {
  const document = objectAt(body, 'documento')
  const pdf = Buffer.from(textAt(document, 'base64'), 'base64')
  if (pdf.subarray(0, 5).toString('latin1') !== '%PDF-') refuse('wrongValue', 'documento.base64')
  const pages = document.paginas
  if (typeof pages !== 'number' || !Number.isInteger(pages) || pages < 1) return refuse('wrongValue', 'documento.paginas')
  const recipient = readPlace(objectAt(body, 'destinatario'))
  if (!/^\d{8}$/.test(recipient.postcode)) return refuse('wrongValue', 'destinatario.cep')
  for (const [name, value] of Object.entries({ nome: recipient.name, logradouro: recipient.street, cidade: recipient.city })) {
    if (value === '') return refuse('required', `destinatario.${name}`)
  }
  const order = {
    reference: textAt(body, 'referencia'),
    layout: textAt(body, 'modelo'),
    subject: textAt(body, 'assunto'),
    recipient,
    sender: readPlace(objectAt(body, 'remetente')),
    pages,
  }
  return { order, pdf, sha256: textAt(document, 'sha256') }
}

const MAX_TEXT = 1_000

function readPlace(place: Record<string, unknown>): Place {
  const text = (name: string): string => (typeof place[name] === 'string' ? place[name].slice(0, MAX_TEXT) : '')
  return {
    name: text('nome'),
    street: text('logradouro'),
    number: text('numero'),
    complement: text('complemento'),
    district: text('bairro'),
    city: text('cidade'),
    state: text('uf'),
    postcode: text('cep'),
  }
}

function objectAt(body: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = body[name]
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('notObjectField', name)
  return value as Record<string, unknown>
}

function textAt(body: Record<string, unknown>, name: string): string {
  const value = body[name]
  return typeof value === 'string' && value !== '' ? value : refuse('required', name)
}
