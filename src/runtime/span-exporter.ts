import { reasonOf } from './failed-fetch.js'

/** A piece of work that took time, as OpenTelemetry has it. Times are milliseconds since 1970. */
export interface Span {
  /** 32 and 16 hexadecimal digits. */
  traceId: string
  spanId: string
  parentSpanId: string | null
  name: string
  kind: keyof typeof KINDS
  startMs: number
  endMs: number
  attributes: Readonly<Record<string, string | number | readonly string[]>>
  /** What went wrong; null: nothing. */
  error: string | null
  /** The work of others that led to this one. */
  link: { traceId: string; spanId: string } | null
}

export interface SpanExporterOptions {
  /** The URL of the collector, with the path of its traces. */
  url: string
  headers: Readonly<Record<string, string>>
  resource: Readonly<Record<string, string>>
  everyMs?: number
  /** Called when the collector stops taking spans, and when it takes them again. */
  onChange(problem: string | null): void
}

const KINDS = { internal: 1, server: 2, client: 3 } as const
const EVERY_MS = 2_000
const MAX_BATCH = 512
/** While the collector is away, what is more than this is lost: traces must not fill the memory. */
const MAX_WAITING = 8_192
/** With the two seconds between them, a collector may be restarted meanwhile. */
const MAX_REFUSALS = 30
const TIMEOUT_MS = 10_000
const STATUS_ERROR = 2

/**
 * Sends spans to a collector by OTLP over HTTP, as JSON (opentelemetry.io/docs/specs/otlp). Not the libraries of OpenTelemetry: they
 * wrap every module that the program loads, and this is all that we use of them.
 */
export class SpanExporter {
  readonly #options: SpanExporterOptions
  readonly #timer: NodeJS.Timeout
  #waiting: Span[] = []
  /** The send under way; null: none. Only one at a time: ticks must not queue behind a collector that does not answer. */
  #sending: Promise<void> | null = null
  /** Ends every request that begins after the close; null: not closed. */
  #limit: AbortSignal | null = null
  #failing = false
  /** How often the batch that is next could not be handed over. */
  #refusals = 0

  constructor(options: SpanExporterOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#flush(), options.everyMs ?? EVERY_MS).unref()
  }

  add(span: Span): void {
    if (this.#waiting.length >= MAX_WAITING) return
    this.#waiting.push(span)
    if (this.#waiting.length % MAX_BATCH === 0 && !this.#failing) this.#flush()
  }

  /** Awaits the send under way, then sends what waits, once. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#limit = AbortSignal.timeout(TIMEOUT_MS)
    await this.#sending
    this.#flush()
    await this.#sending
  }

  #flush(): void {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = null
    })
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH)
      try {
        await this.#post(batch)
      } catch (error) {
        if (!this.#failing) this.#options.onChange(reasonOf(error))
        this.#failing = true
        // A batch that the collector never takes must not keep the later ones back.
        this.#refusals++
        if (this.#refusals >= MAX_REFUSALS) this.#drop(batch)
        return
      }
      if (this.#failing) this.#options.onChange(null)
      this.#failing = false
      this.#drop(batch)
    }
  }

  #drop(batch: readonly Span[]): void {
    this.#waiting = this.#waiting.slice(batch.length)
    this.#refusals = 0
  }

  async #post(batch: readonly Span[]): Promise<void> {
    const { url, headers, resource } = this.#options
    const body = {
      resourceSpans: [
        {
          resource: { attributes: toAttributes(resource) },
          scopeSpans: [{ scope: { name: 'carteiro' }, spans: batch.map(toWire) }],
        },
      ],
    }
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: this.#limit ?? AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`the collector answered ${response.status}`)
  }
}

const toWire = ({ traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, error, link }: Span): object => ({
  traceId,
  spanId,
  ...(parentSpanId === null ? {} : { parentSpanId }),
  name,
  kind: KINDS[kind],
  startTimeUnixNano: toNano(startMs),
  endTimeUnixNano: toNano(endMs),
  attributes: toAttributes(attributes),
  ...(link === null ? {} : { links: [link] }),
  status: error === null ? {} : { code: STATUS_ERROR, message: error },
})

/** By way of microseconds: nanoseconds since 1970 are more than a number holds exactly. */
const toNano = (ms: number): string => String(BigInt(Math.round(ms * 1_000)) * 1_000n)

const toAttributes = (values: Span['attributes']): object[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: toValue(value) }))

function toValue(value: string | number | readonly string[]): object {
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (typeof value === 'string') return { stringValue: value }
  return { arrayValue: { values: value.map(toValue) } }
}
