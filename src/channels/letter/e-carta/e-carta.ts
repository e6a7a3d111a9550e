import type { SentContent } from '../../../domain/delivery/sent-content.js'
import { BoundedCache } from '../../../runtime/bounded-cache.js'
import { type Carrier, type Found, type Provider, type Receipt, SendError } from '../../provider.js'
import type { ProviderModule } from '../../provider-module.js'
import { LETTERS_AT_ONCE, type LetterMessage, letterContent } from '../letter-message.js'
import { type ECartaAccount, readECartaAccount } from './account.js'
import { type LotObject, lotFileName, objectName, packLot } from './files.js'
import type { LotJournal, LotPlace } from './lot-journal.js'
import { findLot, LotNumberTaken, uploadLot } from './lots.js'
import { createReturns, type ReturnOptions } from './returns.js'
import { withSftp } from './sftp.js'

export interface ECartaOptions extends ReturnOptions {
  journal: LotJournal
  privateKey: string | null
}

export const E_CARTA = 'e-carta'
const TIMEOUT_MS = 18_000
/** The engine looks letters up one by one. The result for their lot is cached, so that all of them need one connection. */
const LOOKUP_CACHE_MS = 60_000
const MAX_LOOKUPS = 10_000
const NUMBER_TAKEN =
  'O número do lote já foi usado nos Correios, por outra instalação ou antes de o banco ser restaurado: o operador precisa definir primeiro= em LETTER_URL.'

/** The Correios' e-Carta over SFTP: letters are uploaded in lots, and return files are fetched from a folder. */
export function eCartaProvider(options: ECartaOptions): Provider<LetterMessage> {
  return {
    name: E_CARTA,
    channel: 'letter',
    whenUnknown: 'lookup',
    timeoutMs: TIMEOUT_MS,
    async open(url) {
      const account = readECartaAccount(url, options.privateKey)
      if (account.firstLot !== null) await options.journal.startAt(account.firstLot)
      return new ECarta(account, options)
    },
  }
}

export const eCarta: ProviderModule<LetterMessage, ECartaOptions> = {
  create: eCartaProvider,
  // Lots are numbered for each matrix, and return files name letters by the number of their lot.
  identify: ({ username, host, pathname, searchParams }) => `${username}@${host}${pathname} ${searchParams.get('matriz')}`,
  concurrency: () => LETTERS_AT_ONCE,
}

interface PendingLetter {
  message: LetterMessage
  signal: AbortSignal
  resolve(receipt: Receipt): void
  reject(error: SendError): void
}

class ECarta implements Carrier<LetterMessage> {
  readonly #account: ECartaAccount
  readonly #options: ECartaOptions
  readonly #stop = new AbortController()
  #waiting: PendingLetter[] = []
  #timer: NodeJS.Timeout | undefined
  #returns: NodeJS.Timeout | undefined
  readonly #fetchReturns: (stop: AbortSignal) => Promise<void>
  readonly #running = new Set<Promise<void>>()
  readonly #lookups = new BoundedCache<number, Promise<void>>({ maxEntries: MAX_LOOKUPS, ttlMs: LOOKUP_CACHE_MS })
  #numberTaken = false

  constructor(account: ECartaAccount, options: ECartaOptions) {
    this.#account = account
    this.#options = options
    this.#fetchReturns = createReturns(account, options)
    this.#scheduleReturns(0)
  }

  /** When another installation uses our lot numbers, its reports would be recorded for our letters, so an operator must decide. */
  get ready(): boolean {
    return !this.#numberTaken
  }

  async send(message: LetterMessage, signal: AbortSignal): Promise<Receipt> {
    if (message.sender.address === null) {
      const cure = 'Falta o endereço do remetente, que os Correios exigem: defina letter.address na conta (account set).'
      throw new SendError('permanent', cure)
    }
    const stopped = signal.aborted || this.#stop.signal.aborted
    if (stopped) throw new SendError('temporary', 'O envio foi interrompido antes de começar.')
    if (this.#numberTaken) throw new SendError('temporary', NUMBER_TAKEN)
    const taken = await new Promise<Receipt>((resolve, reject) => {
      this.#waiting.push({ message, signal, resolve, reject })
      const stop = (): void => reject(new SendError('uncertain', 'Os Correios não responderam a tempo.'))
      signal.addEventListener('abort', stop, { once: true })
      if (this.#waiting.length >= this.#account.lotSize) this.#sendLot()
      else this.#timer ??= setTimeout(() => this.#sendLot(), this.#account.lotWaitMs)
    })
    return { ...taken, facts: { pages: message.pages } }
  }

  async find(reference: string, _: string | null, signal: AbortSignal): Promise<Found> {
    const { journal } = this.#options
    const place = (await journal.withdraw([reference])).get(reference)
    if (place === undefined) return 'unknown'
    if (place.uploaded) return this.#receipt(place)
    const failure = await this.#lookUp(place, signal).catch((error: unknown) => error)
    // Even after a failed lookup, another worker may have settled the lot in the meantime.
    const settled = await journal.find(reference)
    if (settled === null) return 'unknown'
    if (settled.uploaded) return this.#receipt(settled)
    throw toSendError(failure, false)
  }

  contentOf(message: LetterMessage): SentContent {
    return letterContent(message)
  }

  async close(): Promise<void> {
    // Return files can wait for the next start; lots are finished.
    this.#stop.abort(new Error('closing'))
    clearTimeout(this.#returns)
    this.#sendLot()
    await Promise.all(this.#running)
  }

  #sendLot(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#waiting.splice(0)
    if (batch.length > 0) this.#track(this.#deliver(batch))
  }

  #track(work: Promise<void>): void {
    const flight = work.finally(() => this.#running.delete(flight))
    this.#running.add(flight)
  }

  /** Rejects the letters that are not in a lot that was or may have been uploaded. */
  async #deliver(batch: readonly PendingLetter[]): Promise<void> {
    const { journal, onError } = this.#options
    const references = batch.map(({ message }) => message.reference)
    const progress = { begun: false }
    try {
      const { lot, places } = await journal.open(references)
      const members: Member[] = []
      for (const waiting of batch) {
        const place = places.get(waiting.message.reference)!
        if (place.lot === lot) members.push({ ...waiting, object: place.object })
        else if (place.uploaded) waiting.resolve(this.#receipt(place))
        else waiting.reject(new SendError('uncertain', 'Esta carta está num lote que já estava a caminho dos Correios.'))
      }
      if (members.length > 0) await this.#upload(lot, members, progress)
    } catch (error) {
      if (error instanceof LotNumberTaken) {
        this.#numberTaken = true
        onError(error, 'no letter leaves until LETTER_URL has primeiro=')
      }
      // The letters that remain in a lot; null: unknown.
      const left = progress.begun ? null : await journal.withdraw(references).catch(this.#journalFailed)
      for (const { message, reject } of batch) reject(toSendError(error, left?.has(message.reference) === false))
    }
  }

  #journalFailed = (error: unknown): null => {
    this.#options.onError(error, 'the journal of lots of e-Carta')
    return null
  }

  async #upload(lot: number, members: readonly Member[], progress: { begun: boolean }): Promise<void> {
    const { journal } = this.#options
    const { matrix, sftp } = this.#account
    const objects = members.map(({ message, object }) => this.#createLotObject(message, object))
    const bytes = packLot(matrix, lot, objects)
    const letters = members.map(({ message: { reference }, object }) => ({ reference, object }))
    const signal = AbortSignal.any([whenAllAborted(members.map(member => member.signal)), AbortSignal.timeout(TIMEOUT_MS)])
    const placed = await withSftp(sftp, signal, session =>
      uploadLot(session, this.#path(lot), bytes, async upload => {
        progress.begun = true
        progress.begun = await journal.begin(lot, upload, letters)
        return progress.begun
      }),
    )
    if (!placed) throw new Error(`lot ${lot} was given up: some of its letters left it`)
    // A failure here is harmless: a later lookup finds the file on the server or the report of Correios.
    await journal.uploaded(lot).catch(this.#journalFailed)
    for (const { object, resolve } of members) resolve(this.#receipt({ lot, object }))
  }

  async #lookUp({ lot, upload }: LotPlace, signal: AbortSignal): Promise<void> {
    if (upload === null) throw new Error(`lot ${lot} is not begun`)
    const { journal } = this.#options
    const settle = (outcome: 'left' | 'stayed') => (outcome === 'left' ? journal.uploaded(lot) : journal.dissolve(lot))
    const known = this.#lookups.get(lot)
    const outcome = known ?? withSftp(this.#account.sftp, signal, session => findLot(session, this.#path(lot), upload, settle))
    if (known === undefined) this.#lookups.set(lot, outcome)
    return outcome
  }

  #path(lot: number): string {
    return `${this.#account.folder}/${lotFileName(this.#account.matrix, lot)}`
  }

  #receipt({ lot, object }: Pick<LotPlace, 'lot' | 'object'>): Receipt {
    return { references: [objectName(lot, object)], answer: lotFileName(this.#account.matrix, lot), delivered: false }
  }

  #createLotObject({ layout, recipient, sender, pdf }: LetterMessage, object: number): LotObject {
    const { card, contract, products } = this.#account
    const product = products[layout] ?? products.registrada!
    return { object, card, contract, product, recipient, sender: { name: sender.name, address: sender.address! }, pdf }
  }

  #scheduleReturns(ms: number): void {
    this.#returns = setTimeout(() => this.#track(this.#pollReturns()), ms)
  }

  async #pollReturns(): Promise<void> {
    const failure = await this.#fetchReturns(this.#stop.signal).then(
      () => null,
      error => ({ error }),
    )
    if (this.#stop.signal.aborted) return
    if (failure !== null) this.#options.onError(failure.error, 'returns of e-Carta')
    this.#scheduleReturns(this.#account.returnsEveryMs)
  }
}

type Member = PendingLetter & { object: number }

function toSendError(cause: unknown, stayed: boolean): SendError {
  const options = { answer: String(cause), cause }
  if (!stayed) return new SendError('uncertain', 'Não se sabe se os Correios (e-Carta) receberam o lote.', options)
  const taken = cause instanceof LotNumberTaken
  return new SendError('temporary', taken ? NUMBER_TAKEN : 'Os Correios (e-Carta) não puderam ser alcançados.', options)
}

/** Aborts when all the signals have aborted. */
function whenAllAborted(signals: readonly AbortSignal[]): AbortSignal {
  const all = new AbortController()
  let waiting = signals.length
  const one = (): void => {
    if (--waiting === 0) all.abort(new Error('nobody waits for this lot any more'))
  }
  for (const signal of signals) {
    if (signal.aborted) one()
    else signal.addEventListener('abort', one, { once: true })
  }
  return all.signal
}
