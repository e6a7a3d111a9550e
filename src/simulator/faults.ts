import { refuse } from '../domain/errors.js'

/** The failure switches of a carrier: what they are called, what they may be, and what people read about them. */
export interface Faults {
  latencyMs: number
  errorRate: number
  outage: boolean
  resetAfterAccept: boolean
  duplicateReports: boolean
  lateReportsMs: number
  seed: number
}

export type FaultField = { name: keyof Faults; about: 'send' | 'reports'; label: string; help: string } & (
  | { kind: 'switch' }
  | { kind: 'number'; most: number; step: number }
)

export const FAULT_FIELDS: readonly FaultField[] = [
  {
    name: 'outage',
    about: 'send',
    label: 'Fora do ar',
    help: 'Conexões abertas caem e novas são recusadas com 421.',
    kind: 'switch',
  },
  {
    name: 'errorRate',
    about: 'send',
    label: 'Parte dos envios com erro',
    help: 'De 0 a 1: 0,25 adia um em cada quatro com 451.',
    kind: 'number',
    most: 1,
    step: 0.01,
  },
  {
    name: 'latencyMs',
    about: 'send',
    label: 'Demora da resposta, em milissegundos',
    help: 'Espera antes de responder ao conteúdo.',
    kind: 'number',
    most: 600_000,
    step: 1,
  },
  {
    name: 'resetAfterAccept',
    about: 'send',
    label: 'Aceita e derruba a conexão',
    help: 'Guarda a mensagem e corta a conexão sem responder: quem envia não sabe se chegou.',
    kind: 'switch',
  },
  {
    name: 'duplicateReports',
    about: 'reports',
    label: 'Avisos em dobro',
    help: 'Tudo o que volta ao remetente vai duas vezes.',
    kind: 'switch',
  },
  {
    name: 'lateReportsMs',
    about: 'reports',
    label: 'Atraso dos avisos, em milissegundos',
    help: 'Espera antes de mandar o que volta ao remetente.',
    kind: 'number',
    most: 3_600_000,
    step: 1,
  },
  {
    name: 'seed',
    about: 'send',
    label: 'Semente do acaso',
    help: 'A mesma semente sorteia os mesmos erros, na mesma ordem.',
    kind: 'number',
    most: 4_294_967_295,
    step: 1,
  },
]

export const NO_FAULTS: Faults = {
  latencyMs: 0,
  errorRate: 0,
  outage: false,
  resetAfterAccept: false,
  duplicateReports: false,
  lateReportsMs: 0,
  seed: 1,
}

/** Reads all switches of a carrier; one that is left out is off. */
export function readFaults(value: unknown, carrier: string): Faults {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return refuse('notObjectField', carrier)
  const faults: Faults = { ...NO_FAULTS }
  for (const [name, given] of Object.entries(value)) {
    const field = FAULT_FIELDS.find(field => field.name === name)
    if (field === undefined) return refuse('notOneOf', carrier, FAULT_FIELDS.map(({ name }) => name).join(', '))
    if (field.kind === 'switch' && typeof given !== 'boolean') return refuse('notBoolean', `${carrier}.${name}`)
    if (field.kind === 'number' && !isNumber(given, field)) return refuse('wrongValue', `${carrier}.${name}`)
    Object.assign(faults, { [name]: given })
  }
  return faults
}

const isNumber = (value: unknown, { most, step }: { most: number; step: number }): boolean =>
  typeof value === 'number' && value >= 0 && value <= most && (step < 1 || Number.isInteger(value))

/** The switches of one carrier as they stand now. */
export class FaultSwitch {
  #faults = NO_FAULTS
  #random = seeded(NO_FAULTS.seed)
  readonly #onOutage: () => void

  constructor(onOutage: () => void) {
    this.#onOutage = onOutage
  }

  get now(): Faults {
    return this.#faults
  }

  set(faults: Faults): void {
    const starting = faults.outage && !this.#faults.outage
    this.#faults = faults
    this.#random = seeded(faults.seed)
    if (starting) this.#onOutage()
  }

  /** Whether this send is one of the unlucky ones. */
  drawError(): boolean {
    return this.#faults.errorRate > 0 && this.#random() < this.#faults.errorRate
  }
}

/** mulberry32: small, and the same everywhere. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
