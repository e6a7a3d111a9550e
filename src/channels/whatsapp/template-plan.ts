import type { Json } from '../../domain/evidence/canonical-json.js'
import type { JsonObject } from '../../domain/notification.js'
import type { TemplateParameter } from './whatsapp-message.js'

/** How variables become the parameters of a template that WhatsApp approved. A function that cannot read them returns a reason. */
export interface TemplatePlan {
  language: string
  /** Whether the approved template names its parameters; otherwise it numbers them. */
  named: boolean
  /** Variables that belong to the header, not to the body. */
  header: readonly string[]
  /** Place of the button that leads to the notification; null: the template has none. */
  linkButton: number | null
}

/** Meta's limit for a template's buttons. */
const MAX_BUTTONS = 10

/** idioma, parametros, cabecalho and botaoLink, each with its default. */
export function readTemplatePlan(given: JsonObject, field: string): TemplatePlan | string {
  const { idioma = 'pt_BR', parametros = 'posicionais', cabecalho = [], botaoLink = null } = given
  if (typeof idioma !== 'string' || !/^[a-z]{2,3}(_[A-Z]{2,3})?$/.test(idioma)) {
    return `O campo ${field}.idioma deve ser um idioma da Meta, como pt_BR.`
  }
  if (parametros !== 'posicionais' && parametros !== 'nomeados') {
    return `O campo ${field}.parametros deve ser posicionais ou nomeados.`
  }
  if (!Array.isArray(cabecalho) || !cabecalho.every(name => typeof name === 'string'))
    return `O campo ${field}.cabecalho deve ser uma lista de nomes de variáveis.`
  if (botaoLink !== null && !isButton(botaoLink)) {
    return `O campo ${field}.botaoLink deve ser a posição do botão, de 0 a ${MAX_BUTTONS - 1}.`
  }
  return { language: idioma, named: parametros === 'nomeados', header: cabecalho, linkButton: botaoLink }
}

const isButton = (value: Json): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < MAX_BUTTONS

/** A text, or members that are either all numbered from 1 or all named: the store keeps no order of members. */
export function readParameters(given: Json, field: string): TemplateParameter[] | string {
  if (given === null || typeof given !== 'object') {
    const single = readSingle(field, given)
    return typeof single === 'string' ? single : [{ name: null, text: single.text }]
  }
  if (Array.isArray(given)) return `O campo ${field} deve ser um texto ou um objeto.`
  const values = given as JsonObject
  const names = Object.keys(values)
  const numbers = names.filter(name => /^[1-9]\d{0,3}$/.test(name))
  if (numbers.length > 0 && numbers.length < names.length) {
    return `Em ${field}, use só números (1, 2, …) ou só nomes, como no template aprovado na Meta.`
  }
  const positional = numbers.length > 0
  if (positional) names.sort((a, b) => Number(a) - Number(b))
  const gap = positional ? names.findIndex((name, index) => Number(name) !== index + 1) : -1
  if (gap !== -1) return `Falta o valor da variável ${gap + 1} do template: informe ${field}.${gap + 1}.`
  return readEach(names, values, { named: !positional, field })
}

/** `field`: the member of the request that holds the values. */
export function readEach(
  names: readonly string[],
  values: JsonObject,
  { named, field }: { named: boolean; field: string },
): TemplateParameter[] | string {
  const parameters: TemplateParameter[] = []
  for (const name of names) {
    const single = readSingle(`${field}.${name}`, values[name])
    if (typeof single === 'string') return single
    parameters.push({ name: named ? name : null, text: single.text })
  }
  return parameters
}

/** WhatsApp refuses parameters that are empty, and those with line breaks, tabs or more than four blanks in a row. */
export function readSingle(field: string, value: Json | undefined): { text: string } | string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    return value === null || value === undefined ? emptyReason(field) : `O campo ${field} deve ser um texto.`
  }
  const text = String(value)
    // Two patterns, because one that looks for a break between blanks takes time that grows with the square of their number.
    .replace(/\s+/g, blanks => (/[\r\n\t]/.test(blanks) ? ' ' : blanks))
    .replace(/ {5,}/g, '    ')
    .trim()
  return text === '' ? emptyReason(field) : { text }
}

const emptyReason = (field: string): string => `O WhatsApp não aceita variável vazia: informe ${field}.`
