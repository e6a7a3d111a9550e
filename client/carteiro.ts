import { bulkOf } from './bulk.js'
import {
  asJson,
  asText,
  type Call,
  type CallOptions,
  CarteiroError,
  type ClientOptions,
  createRequester,
  NoAnswerError,
  type Requester,
} from './request.js'
import type {
  AttemptsQuery,
  Channel,
  ChannelStatuses,
  FinalizeAnswer,
  FullStatus,
  NewTemplate,
  NewWebhook,
  NextStep,
  NotificationSummary,
  NotificationsQuery,
  ReplayRequest,
  SendAnswer,
  SendingProof,
  SendRequest,
  Sequence,
  Template,
  TemplateEdit,
  TemplatePreview,
  TemplatesQuery,
  TimelineEvent,
  Usage,
  Webhook,
  WebhookAttempt,
  WebhookEdit,
  WebhookTest,
  WebhookWithSecret,
} from './types.js'

export interface SendOptions extends CallOptions {
  /**
   * Names this send: the same key and body within 24 hours give the first answer again, and nothing is sent twice. Default: a new key
   * for each call, which protects the attempts of that call. Give your own, such as the number of the invoice, to be protected also
   * when your program starts again.
   */
  idempotencyKey?: string
}

interface Data<Value> {
  data: Value
}

/** A client of the gateway's API. Runs wherever there is `fetch`: Node, Deno, Bun, edge runtimes. */
export class Carteiro {
  readonly #request: Requester
  readonly bulk: ReturnType<typeof bulkOf>
  readonly templates: ReturnType<typeof templatesOf>
  readonly webhooks: ReturnType<typeof webhooksOf>
  readonly sequence: ReturnType<typeof sequenceOf>

  constructor(options: ClientOptions) {
    this.#request = createRequester(options)
    this.bulk = bulkOf(this.#request)
    this.templates = templatesOf(this.#request)
    this.webhooks = webhooksOf(this.#request)
    this.sequence = sequenceOf(this.#request)
  }

  /** Accepted is not delivered: follow the notification by its `idEmail`, or by webhook. */
  async send(request: SendRequest, { idempotencyKey = crypto.randomUUID(), ...options }: SendOptions = {}): Promise<SendAnswer> {
    try {
      return await this.#json<SendAnswer>({
        method: 'POST',
        path: '/gw/email',
        body: request,
        headers: { 'idempotency-key': idempotencyKey },
        repeatable: true,
        ...options,
      })
    } catch (error) {
      if (error instanceof CarteiroError || options.signal?.aborted === true) throw error
      throw new NoAnswerError(idempotencyKey, error)
    }
  }

  /** The status record of one channel. A channel without one yet is an error 404. */
  status<Name extends Channel>(channel: Name, idEmail: string, options?: CallOptions): Promise<ChannelStatuses[Name]> {
    return this.#get(`/gw/${channel}/${encodeURIComponent(idEmail)}`, options)
  }

  /** All channels of a notification, and every step that each has taken. */
  fullStatus(idEmail: string, options?: CallOptions): Promise<FullStatus> {
    return this.#get(`/gw/full/${encodeURIComponent(idEmail)}`, options)
  }

  /** The timeline, oldest first, with the grade of proof of each event. */
  async events(idEmail: string, options?: CallOptions): Promise<TimelineEvent[]> {
    return (await this.#get<Data<TimelineEvent[]>>(`/gw/events/${encodeURIComponent(idEmail)}`, options)).data
  }

  /** What the sequence will still send, when, and on which condition. */
  async nextSteps(idEmail: string, options?: CallOptions): Promise<NextStep[]> {
    return (await this.#get<Data<NextStep[]>>(`/gw/sequence/${encodeURIComponent(idEmail)}`, options)).data
  }

  /** Cancels what still waits. */
  finalize(idEmail: string, options?: CallOptions): Promise<FinalizeAnswer> {
    return this.#get(`/regua-notificacao/finalizar/${encodeURIComponent(idEmail)}`, options)
  }

  /** The account's notifications, newest first. Asks for the next page only when it is wanted. */
  async *notifications(
    query: Omit<NotificationsQuery, 'cursor'> = {},
    options?: CallOptions,
  ): AsyncGenerator<NotificationSummary> {
    let cursor: string | undefined
    do {
      const page = await this.#get<Data<NotificationSummary[]> & { cursor: string | null }>(
        '/gw/notifications',
        options,
        cursor === undefined ? query : { ...query, cursor },
      )
      yield* page.data
      cursor = page.cursor ?? undefined
    } while (cursor !== undefined)
  }

  /** The sending proof: a PDF in base64 in `content`, or a `message` while there is none. */
  sendingProof(idEmail: string, options?: CallOptions): Promise<SendingProof> {
    return this.#get(`/gw/sending-proof/${encodeURIComponent(idEmail)}`, options)
  }

  /** The report of the notification for a court, a signed PDF. */
  report(idEmail: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#bytes(`/gw/email/laudo/${encodeURIComponent(idEmail)}`, options)
  }

  /** The evidence bundle, a ZIP that `carteiro verify` and others check offline. */
  evidence(idEmail: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#bytes(`/gw/evidence/${encodeURIComponent(idEmail)}`, options)
  }

  /** What the messages of a month used, and what they are estimated to cost. `mes`: as 2026-11; absent: this month. */
  async usage({ mes, ...options }: CallOptions & { mes?: string } = {}): Promise<Usage> {
    return (await this.#get<Data<Usage>>('/gw/usage', options, { mes })).data
  }

  async #json<Answer>(call: Call): Promise<Answer> {
    return (await this.#request(call, asJson)) as Answer
  }

  #get<Answer>(path: string, options: CallOptions = {}, query: Call['query'] = {}): Promise<Answer> {
    return this.#json({ method: 'GET', path, query, repeatable: true, ...options })
  }

  async #bytes(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#request(
      { method: 'GET', path, repeatable: true, ...options },
      async response => new Uint8Array(await response.arrayBuffer()),
    )
  }
}

/** Calls whose answer is in `data`. */
const dataOf =
  (request: Requester) =>
  async <Value>(call: Call): Promise<Value> =>
    ((await request(call, asJson)) as Data<Value>).data

function templatesOf(request: Requester) {
  const data = dataOf(request)
  const at = (id: string): string => `/gw/templates/${encodeURIComponent(id)}`
  return {
    /** Newest first. Asks for the next page only when it is wanted. */
    async *list(query: Omit<TemplatesQuery, 'cursor'> = {}, options?: CallOptions): AsyncGenerator<Template> {
      let cursor: string | undefined
      do {
        const call: Call = {
          method: 'GET',
          path: '/gw/templates',
          query: cursor === undefined ? query : { ...query, cursor },
          repeatable: true,
          ...options,
        }
        const page: { templates: Template[]; next: string | undefined } = await request(call, async response => ({
          templates: ((await response.json()) as Data<Template[]>).data,
          next: nextCursor(response),
        }))
        yield* page.templates
        cursor = page.next
      } while (cursor !== undefined)
    },
    /** `versao`: an earlier version of its content. */
    get: (id: string, { versao, ...options }: CallOptions & { versao?: number } = {}) =>
      data<Template>({ method: 'GET', path: at(id), query: { versao }, repeatable: true, ...options }),
    create: (template: NewTemplate, options?: CallOptions) =>
      data<Template>({ method: 'POST', path: '/gw/templates', body: template, repeatable: false, ...options }),
    edit: (id: string, edit: TemplateEdit, options?: CallOptions) =>
      data<Template>({ method: 'PUT', path: at(id), body: edit, repeatable: true, ...options }),
    setActive: (id: string, ativo: boolean, options?: CallOptions) =>
      data<Template>({ method: 'PATCH', path: `${at(id)}/status`, body: { ativo }, repeatable: true, ...options }),
    /** Filled in with these values, as a send would. */
    preview: (id: string, variaveis: Readonly<Record<string, unknown>>, options?: CallOptions) =>
      data<TemplatePreview>({ method: 'POST', path: `${at(id)}/preview`, body: { variaveis }, repeatable: true, ...options }),
  }
}

function sequenceOf(request: Requester) {
  const data = dataOf(request)
  return {
    get: (options?: CallOptions) => data<Sequence>({ method: 'GET', path: '/gw/sequence', repeatable: true, ...options }),
    set: (sequence: Sequence, options?: CallOptions) =>
      data<Sequence>({ method: 'PUT', path: '/gw/sequence', body: sequence, repeatable: true, ...options }),
  }
}

function webhooksOf(request: Requester) {
  const data = dataOf(request)
  const at = (id: string): string => `/gw/webhooks/${encodeURIComponent(id)}`
  return {
    list: (options?: CallOptions) => data<Webhook[]>({ method: 'GET', path: '/gw/webhooks', repeatable: true, ...options }),
    get: (id: string, options?: CallOptions) => data<Webhook>({ method: 'GET', path: at(id), repeatable: true, ...options }),
    /** `segredo` is shown only now. */
    create: (webhook: NewWebhook, options?: CallOptions) =>
      data<WebhookWithSecret>({ method: 'POST', path: '/gw/webhooks', body: webhook, repeatable: false, ...options }),
    edit: (id: string, edit: WebhookEdit, options?: CallOptions) =>
      data<Webhook>({ method: 'PUT', path: at(id), body: edit, repeatable: true, ...options }),
    async remove(id: string, options?: CallOptions): Promise<void> {
      await request({ method: 'DELETE', path: at(id), repeatable: true, ...options }, asText)
    },
    /** Both secrets sign for 24 hours. */
    rotate: (id: string, options?: CallOptions) =>
      data<WebhookWithSecret>({ method: 'POST', path: `${at(id)}/rotate`, repeatable: false, ...options }),
    test: (id: string, options?: CallOptions) =>
      data<WebhookTest>({ method: 'POST', path: `${at(id)}/test`, repeatable: false, ...options }),
    /** Newest first. Asks for the next page only when it is wanted. */
    async *attempts(
      id: string,
      query: Omit<AttemptsQuery, 'antesDe'> = {},
      options?: CallOptions,
    ): AsyncGenerator<WebhookAttempt> {
      let antesDe: number | undefined
      while (true) {
        const call: Call = {
          method: 'GET',
          path: `${at(id)}/attempts`,
          query: { ...query, antesDe },
          repeatable: true,
          ...options,
        }
        const page: WebhookAttempt[] = await data(call)
        if (page.length === 0) return
        yield* page
        antesDe = page.at(-1)!.id
      }
    },
    /** Says how many messages go again. */
    replay: (id: string, what: ReplayRequest, options?: CallOptions) =>
      data<{ mensagens: number }>({ method: 'POST', path: `${at(id)}/replay`, body: what, repeatable: false, ...options }),
  }
}

/** The page that follows, as the header Link says. */
function nextCursor({ headers }: Response): string | undefined {
  const next = /<([^>]*)>;\s*rel="?next"?/.exec(headers.get('link') ?? '')?.[1]
  return next === undefined ? undefined : (new URL(next, 'http://any').searchParams.get('cursor') ?? undefined)
}
