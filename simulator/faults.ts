import { refuse } from '../src/domain/errors.js'
import { HOUR_MS } from '../src/domain/units.js'
import { seeded } from './random.js'

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
  | { kind: 'number'; max: number; step: number }
)

/** The faults that depend on the carrier's protocol, each with the help text of its channel. */
export type SendFaults = Partial<Record<'outage' | 'errorRate' | 'latencyMs' | 'resetAfterAccept', string>>

const number = (max: number, step = 1) => ({ kind: 'number', max, step }) as const

/** In the order of the page. A null help text comes from the channels that have the fault. */
const FIELDS: readonly (FaultField | (Omit<FaultField, 'help'> & { help: null }))[] = [
  { name: 'outage', about: 'send', label: 'Fora do ar', help: null, kind: 'switch' },
  { name: 'errorRate', about: 'send', label: 'Parte dos envios com erro', help: null, ...number(1, 0.01) },
  { name: 'latencyMs', about: 'send', label: 'Demora da resposta, em milissegundos', help: null, ...number(600_000) },
  { name: 'resetAfterAccept', about: 'send', label: 'Aceita e derruba a conexão', help: null, kind: 'switch' },
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
    ...number(HOUR_MS),
  },
  {
    name: 'seed',
    about: 'send',
    label: 'Semente do acaso',
    help: 'A mesma semente sorteia os mesmos erros, na mesma ordem.',
    ...number(4_294_967_295),
  },
]

/** The switches of a channel: those for which it gives a help text, and those that every channel has. */
export const describeFaults = (help: SendFaults): readonly FaultField[] =>
  FIELDS.flatMap(field => {
    const text = help[field.name as keyof SendFaults] ?? field.help
    return text === null ? [] : [{ ...field, help: text } as FaultField]
  })

export const NO_FAULTS: Faults = {
  latencyMs: 0,
  errorRate: 0,
  outage: false,
  resetAfterAccept: false,
  duplicateReports: false,
  lateReportsMs: 0,
  seed: 1,
}

const isNumber = (value: unknown, { max, step }: { max: number; step: number }): boolean =>
  typeof value === 'number' && value >= 0 && value <= max && (step < 1 || Number.isInteger(value))

/** The current faults of one channel. */
export class FaultSwitch {
  #faults = NO_FAULTS
  #random = seeded(NO_FAULTS.seed)
  readonly fields: readonly FaultField[]
  readonly #onOutage: () => void

  constructor(fields: readonly FaultField[], onOutage: () => void = () => {}) {
    this.fields = fields
    this.#onOutage = onOutage
  }

  get now(): Faults {
    return this.#faults
  }

  /** The values of the switches that this channel has. */
  get shown(): Partial<Faults> {
    return Object.fromEntries(this.fields.map(({ name }) => [name, this.#faults[name]]))
  }

  /** How many faults are on. The seed is not a fault. */
  get count(): number {
    return this.fields.filter(({ name }) => name !== 'seed' && this.#faults[name] !== NO_FAULTS[name]).length
  }

  /** Reads the wanted state of all switches. A switch that is absent is off. */
  read(value: unknown, channel: string): Faults {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return refuse('notObjectField', channel)
    const faults: Faults = { ...NO_FAULTS }
    for (const [name, given] of Object.entries(value)) {
      const field = this.fields.find(field => field.name === name)
      if (field === undefined) return refuse('notOneOf', channel, this.fields.map(({ name }) => name).join(', '))
      if (field.kind === 'switch' && typeof given !== 'boolean') return refuse('notBoolean', `${channel}.${name}`)
      if (field.kind === 'number' && !isNumber(given, field)) return refuse('wrongValue', `${channel}.${name}`)
      Object.assign(faults, { [name]: given })
    }
    return faults
  }

  set(faults: Faults): void {
    const starting = faults.outage && !this.#faults.outage
    this.#faults = faults
    this.#random = seeded(faults.seed)
    if (starting) this.#onOutage()
  }

  /** Whether errorRate makes this send fail. */
  drawError(): boolean {
    return this.#faults.errorRate > 0 && this.#random() < this.#faults.errorRate
  }
}
