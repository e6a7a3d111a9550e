import type { JsonObject } from '../../domain/notification.js'

/** A Brazilian postal address. */
export interface PostalAddress {
  street: string
  number: string
  complement: string
  district: string
  city: string
  /** Two letters. */
  state: string
  /** Eight digits. */
  postcode: string
}

/** The name of each state without accents, and its postcode ranges by the first five digits, as Correios assigns them. */
const STATES: Record<string, { name: string; postcodes: string }> = {
  AC: { name: 'acre', postcodes: '69900-69999' },
  AL: { name: 'alagoas', postcodes: '57000-57999' },
  AM: { name: 'amazonas', postcodes: '69000-69299 69400-69899' },
  AP: { name: 'amapa', postcodes: '68900-68999' },
  BA: { name: 'bahia', postcodes: '40000-48999' },
  CE: { name: 'ceara', postcodes: '60000-63999' },
  DF: { name: 'distritofederal', postcodes: '70000-72799 73000-73699' },
  ES: { name: 'espiritosanto', postcodes: '29000-29999' },
  GO: { name: 'goias', postcodes: '72800-72999 73700-76799' },
  MA: { name: 'maranhao', postcodes: '65000-65999' },
  MG: { name: 'minasgerais', postcodes: '30000-39999' },
  MS: { name: 'matogrossodosul', postcodes: '79000-79999' },
  MT: { name: 'matogrosso', postcodes: '78000-78899' },
  PA: { name: 'para', postcodes: '66000-68899' },
  PB: { name: 'paraiba', postcodes: '58000-58999' },
  PE: { name: 'pernambuco', postcodes: '50000-56999' },
  PI: { name: 'piaui', postcodes: '64000-64999' },
  PR: { name: 'parana', postcodes: '80000-87999' },
  RJ: { name: 'riodejaneiro', postcodes: '20000-28999' },
  RN: { name: 'riograndedonorte', postcodes: '59000-59999' },
  RO: { name: 'rondonia', postcodes: '76800-76999' },
  RR: { name: 'roraima', postcodes: '69300-69399' },
  RS: { name: 'riograndedosul', postcodes: '90000-99999' },
  SC: { name: 'santacatarina', postcodes: '88000-89999' },
  SE: { name: 'sergipe', postcodes: '49000-49999' },
  SP: { name: 'saopaulo', postcodes: '01000-19999' },
  TO: { name: 'tocantins', postcodes: '77000-77999' },
}

/** The variable names that senders' systems use, without accents, case or separators. The first one is documented. */
const SPELLINGS = {
  name: ['destinatario', 'nomedestinatario', 'destinatarionome'],
  postcode: ['cep', 'codigopostal'],
  street: ['logradouro', 'rua', 'endereco', 'avenida'],
  number: ['numero', 'num', 'nro', 'n'],
  complement: ['complemento', 'compl'],
  district: ['bairro', 'distrito'],
  city: ['cidade', 'municipio', 'localidade'],
  state: ['uf', 'estado'],
} as const

type Part = keyof typeof SPELLINGS
const LIMITS = { name: 100, postcode: 20, street: 120, number: 20, complement: 60, district: 72, city: 72, state: 40 }

/** Reads an address from the free variables of a letter. A problem is described in Portuguese, with its correction. */
export function readPostalAddress(variables: JsonObject): { name: string | null; address: PostalAddress } | { problem: string } {
  const parts = collect(variables)
  const tooLong = (Object.keys(LIMITS) as Part[]).find(part => (parts[part]?.length ?? 0) > LIMITS[part])
  if (tooLong !== undefined) {
    return problem(`O campo ${field(tooLong)} passa do limite de ${LIMITS[tooLong]} caracteres do endereço.`)
  }
  const [street, number] = splitNumber(parts.street ?? '', parts.number ?? '')
  const missing = Object.entries({ postcode: parts.postcode, street, number, city: parts.city, state: parts.state })
    .filter(([, value]) => value === undefined || value === '')
    .map(([part]) => field(part as Part))
  if (missing.length > 0) {
    const cure = missing.includes(field('number')) ? ' Para um endereço sem número, informe numero "S/N".' : ''
    return problem(`Falta o endereço do destinatário: informe ${missing.join(', ')}.${cure}`)
  }
  const postcode = parts.postcode!.replace(/[\s.-]/g, '')
  if (!/^\d{8}$/.test(postcode))
    return problem(`O CEP "${parts.postcode}" é inválido: informe os 8 dígitos em ${field('postcode')}.`)
  const state = readState(parts.state!)
  if (state === null) return problem(`A UF "${parts.state}" não existe: informe a sigla do estado em ${field('state')}.`)
  const owner = stateOf(postcode)
  if (owner !== state) {
    const where = owner === null ? 'não pertence a nenhum estado' : `é de ${owner}, não de ${state}`
    return problem(`O CEP ${formatPostcode(postcode)} ${where}: verifique ${field('postcode')} e ${field('state')}.`)
  }
  const { name = '', complement = '', district = '', city = '' } = parts
  return { name: name || null, address: { street, number, complement, district, city, state, postcode } }
}

const problem = (text: string): { problem: string } => ({ problem: text })
const field = (part: Part): string => `carta.variables.${SPELLINGS[part][0]}`

function collect(variables: JsonObject): Partial<Record<Part, string>> {
  const flat = new Map<string, string>()
  for (const [key, value] of Object.entries(variables)) {
    const text = typeof value === 'string' || typeof value === 'number' ? oneLine(String(value)) : ''
    if (text !== '' && !flat.has(plain(key))) flat.set(plain(key), text)
  }
  const found = Object.entries(SPELLINGS).map(([part, spellings]) => [
    part,
    flat.get(spellings.find(name => flat.has(name)) ?? ''),
  ])
  return Object.fromEntries(found)
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const plain = (text: string): string =>
  text
    .normalize('NFD')
    .toLowerCase()
    .replace(/[^a-z]/g, '')

const oneLine = (text: string): string => text.replace(/[\s\u0000-\u001f\u007f]+/g, ' ').trim()

/** Senders often write the number in the street: "Rua das Flores, 100". */
function splitNumber(street: string, number: string): [string, string] {
  const [, name, written] = /^(.*\S)\s*,\s*(?:n[º°o.]*\s*)?(\d[\w/-]{0,9}|s\/?n)$/i.exec(street) ?? []
  return number !== '' || name === undefined ? [street, number] : [name, written!]
}

function readState(text: string): string | null {
  const name = plain(text)
  return Object.keys(STATES).find(code => code.toLowerCase() === name || STATES[code]!.name === name) ?? null
}

/** The digits have a fixed length, so they are compared as texts. */
function stateOf(postcode: string): string | null {
  const head = postcode.slice(0, 5)
  const covers = (range: string): boolean => head >= range.slice(0, 5) && head <= range.slice(6)
  return Object.keys(STATES).find(code => STATES[code]!.postcodes.split(' ').some(covers)) ?? null
}

const formatPostcode = (postcode: string): string => `${postcode.slice(0, 5)}-${postcode.slice(5)}`

/** The order that Correios asks for on an envelope: street, district, then postcode, city and state. */
export function addressLines({ street, number, complement, district, city, state, postcode }: PostalAddress): string[] {
  const first = [street, number, complement].filter(part => part !== '').join(', ')
  return [first, district, `${formatPostcode(postcode)} ${city} – ${state}`].filter(line => line !== '')
}

/** Reads an account's setting: logradouro; número; complemento; bairro; cidade; UF; CEP. */
export function readSenderAddress(text: string): PostalAddress | null {
  const names = ['logradouro', 'numero', 'complemento', 'bairro', 'cidade', 'uf', 'cep']
  const values = text.split(';').map(part => part.trim())
  if (values.length !== names.length) return null
  const read = readPostalAddress(Object.fromEntries(names.map((name, place) => [name, values[place]!])))
  return 'problem' in read ? null : read.address
}
