import { GraphFault } from './graph-fault.js'
import type { Parameter } from './template-message.js'

export interface SendRequest {
  to: string
  template: string
  language: string
  header: Parameter[]
  body: Parameter[]
  links: string[]
  reference: string | null
}

type Members = Record<string, unknown>

const MAX_OPAQUE = 512
const MAX_TEXT = 1_024

/** Refuses what the carrier's published rules refuse. */
export function readSendRequest(given: unknown): SendRequest {
  const request = objectOf(given, 'body')
  if (request.messaging_product !== 'whatsapp') throw new GraphFault(100, 'messaging_product must be whatsapp')
  if (request.recipient_type !== undefined && request.recipient_type !== 'individual') wrong('recipient_type')
  if (request.type !== 'template') wrong('type')
  const to = textOf(request.to, 'to').replace(/^\+/, '')
  if (!/^\d{8,15}$/.test(to)) wrong('to')
  const template = objectOf(request.template, 'template')
  const name = textOf(template.name, 'template.name')
  if (!/^[a-z0-9_]{1,512}$/.test(name)) wrong('template.name')
  const language = textOf(objectOf(template.language, 'template.language').code, 'template.language.code')
  if (!/^[a-z]{2,3}(_[A-Z]{2,3})?$/.test(language))
    throw new GraphFault(132001, `template name (${name}) does not exist in ${language}`)
  const opaque = request.biz_opaque_callback_data
  if (opaque !== undefined && (typeof opaque !== 'string' || opaque.length > MAX_OPAQUE)) wrong('biz_opaque_callback_data')
  return {
    to,
    template: name,
    language,
    ...readComponents(template.components),
    reference: (opaque as string | undefined) ?? null,
  }
}

function readComponents(given: unknown): Pick<SendRequest, 'header' | 'body' | 'links'> {
  const read: Pick<SendRequest, 'header' | 'body' | 'links'> = { header: [], body: [], links: [] }
  if (given === undefined) return read
  if (!Array.isArray(given)) return wrong('template.components')
  const seen = new Set<string>()
  for (const item of given) {
    const component = objectOf(item, 'template.components')
    const key = `${component.type} ${component.index ?? ''}`
    if (seen.has(key)) wrong('template.components')
    seen.add(key)
    const parameters = readParameters(component.parameters)
    if (component.type === 'header') read.header = parameters
    else if (component.type === 'body') read.body = parameters
    else if (component.type === 'button') read.links.push(readButton(component, parameters))
    else wrong('template.components.type')
  }
  return read
}

function readButton({ sub_type, index }: Members, parameters: readonly Parameter[]): string {
  if (sub_type !== 'url') wrong('template.components.sub_type')
  if (!/^\d$/.test(String(index ?? ''))) wrong('template.components.index')
  const [link, ...others] = parameters
  if (link === undefined || others.length > 0) throw new GraphFault(132000, 'a link button takes one parameter')
  return link.text
}

function readParameters(given: unknown): Parameter[] {
  if (!Array.isArray(given) || given.length === 0) return wrong('template.components.parameters')
  const parameters = given.map(item => {
    const parameter = objectOf(item, 'template.components.parameters')
    if (parameter.type !== 'text') wrong('template.components.parameters.type')
    const name = parameter.parameter_name
    if (name !== undefined && typeof name !== 'string') wrong('template.components.parameters.parameter_name')
    return { name: (name as string | undefined) ?? null, text: readText(parameter.text) }
  })
  const named = parameters.filter(({ name }) => name !== null).length
  if (named > 0 && named < parameters.length) throw new GraphFault(132000, 'named and positional parameters are mixed')
  return parameters
}

function readText(value: unknown): string {
  const text = textOf(value, 'template.components.parameters.text')
  if (/[\n\r\t]| {5}/.test(text)) {
    throw new GraphFault(132018, 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces')
  }
  if (text.length > MAX_TEXT) wrong('template.components.parameters.text')
  return text
}

function objectOf(value: unknown, field: string): Members {
  if (value === undefined || value === null) throw new GraphFault(131008, `${field} is required`)
  return typeof value === 'object' && !Array.isArray(value) ? (value as Members) : wrong(field)
}

function textOf(value: unknown, field: string): string {
  if (value === undefined || value === null || value === '') throw new GraphFault(131008, `${field} is required`)
  return typeof value === 'string' ? value : wrong(field)
}

function wrong(field: string): never {
  throw new GraphFault(131009, `${field} is not valid`)
}
