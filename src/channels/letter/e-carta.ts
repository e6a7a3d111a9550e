import { BoundedCache } from '../../runtime/bounded-cache.js'
import type { Carrier, CarrierEvent, Found, LetterMessage, Provider, Receipt } from '../provider.js'
import { SendError } from '../provider.js'
import { type ECartaAccount, readECartaAccount } from './e-carta-account.js'
import { isReturn, type LetterLine, type LotObject, lotFileName, objectName, packLot, readReturn } from './e-carta-files.js'
import { type LotJournal, type LotPlace, LotTaken, lookForLot, placeLot } from './e-carta-lots.js'
import type { PostalAddress } from './postal-address.js'
import { withSftp } from './sftp.js'

/** The post's e-Carta over SFTP: letters leave as lots, returns are fetched from a folder. */
export interface ECartaOptions {
  journal: LotJournal
  privateKey: string | null
  onEvents(events: readonly CarrierEvent[]): Promise<void>
  /** A signed receipt of delivery, by the post's name for the letter. */
  onReceipt(name: string, image: { type: 'png' | 'jpg'; bytes: Uint8Array }): Promise<void>
  onError(error: unknown, what: string): void
}

export const E_CARTA = 'e-carta'
const TIMEOUT_MS = 18_000
const RETURNS_TIMEOUT_MS = 120_000
/** The letters of a lot are asked about one by one: the folder is looked at once for all of them. */
const LOOKED_MS = 60_000
const MAX_LOOKS = 10_000
const TAKEN =
  'O número do lote já foi usado nos Correios, por outra instalação ou antes de o banco ser restaurado: o operador precisa definir primeiro= em LETTER_URL.'

export function eCartaProvider(options: ECartaOptions): Provider<LetterMessage> {
  return {
    name: E_CARTA,
    channel: 'letter',
    whenUnknown: 'lookup',
    takenIs: 'processed',
    timeoutMs: TIMEOUT_MS,
    async open(url) {
      const account = readECartaAccount(url, options.privateKey)
      if (account.firstLot !== null) await options.journal.startAt(account.firstLot)
      return new ECarta(account, options)
    },
  }
}

interface Waiting {
  message: LetterMessage
  signal: AbortSignal
  resolve(receipt: Receipt): void
  reject(error: SendError): void
}

class ECarta implements Carrier<LetterMessage> {
  readonly #account: ECartaAccount
  readonly #options: ECartaOptions
  readonly #stop = new AbortController()
  #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined
  #returns: NodeJS.Timeout | undefined
  readonly #flights = new Set<Promise<void>>()
  readonly #looks = new BoundedCache<number, Promise<void>>({ maxEntries: MAX_LOOKS, ttlMs: LOOKED_MS })
  #taken = false

  constructor(account: ECartaAccount, options: ECartaOptions) {
    this.#account = account
    this.#options = options
    this.#collectLater(0)
  }

  /** Once somebody else's lots bear our numbers, what the post tells of them would be told of our letters: an operator decides. */
  get ready(): boolean {
    return !this.#taken
  }

  send(message: LetterMessage, signal: AbortSignal): Promise<Receipt> {
    if (message.sender.address === null) {
      const cure = 'Falta o endereço do remetente, que os Correios exigem: defina letter.address na conta (account set).'
      return Promise.reject(new SendError('permanent', cure))
    }
    if (signal.aborted || this.#stop.signal.aborted) {
      return Promise.reject(new SendError('temporary', 'O envio foi interrompido antes de começar.'))
    }
    if (this.#taken) return Promise.reject(new SendError('temporary', TAKEN))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, signal, resolve, reject })
      const stop = (): void => reject(new SendError('uncertain', 'Os Correios não responderam a tempo.'))
      signal.addEventListener('abort', stop, { once: true })
      if (this.#waiting.length >= this.#account.lotSize) this.#leave()
      else this.#timer ??= setTimeout(() => this.#leave(), this.#account.lotWaitMs)
    })
  }

  async find(reference: string, _: string | null, signal: AbortSignal): Promise<Found> {
    const { journal } = this.#options
    const place = (await journal.leave([reference])).get(reference)
    if (place === undefined) return 'unknown'
    if (place.uploaded) return this.#receipt(place)
    const failure = await this.#look(place, signal).catch((error: unknown) => error)
    // Whatever came of the look: another worker may have settled it meanwhile.
    const settled = await journal.find(reference)
    if (settled === null) return 'unknown'
    if (settled.uploaded) return this.#receipt(settled)
    throw toSendError(failure, false)
  }

  async close(): Promise<void> {
    // Returns can wait for the next start; lots are finished.
    this.#stop.abort(new Error('closing'))
    clearTimeout(this.#returns)
    this.#leave()
    await Promise.all(this.#flights)
  }

  #leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#waiting.splice(0)
    if (batch.length > 0) this.#fly(this.#deliver(batch))
  }

  #fly(work: Promise<void>): void {
    const flight = work.finally(() => this.#flights.delete(flight))
    this.#flights.add(flight)
  }

  /** Rejects whoever is in no lot that left or may have left. */
  async #deliver(batch: readonly Waiting[]): Promise<void> {
    const { journal, onError } = this.#options
    const progress = { begun: false }
    try {
      const { lot, places } = await journal.open(batch.map(({ message }) => message.reference))
      const members: Member[] = []
      for (const waiting of batch) {
        const place = places.get(waiting.message.reference)!
        if (place.lot === lot) members.push({ ...waiting, object: place.object })
        else if (place.uploaded) waiting.resolve(this.#receipt(place))
        else waiting.reject(new SendError('uncertain', 'Esta carta está num lote que já estava a caminho dos Correios.'))
      }
      if (members.length > 0) await this.#upload(lot, members, progress)
    } catch (error) {
      if (error instanceof LotTaken) {
        this.#taken = true
        onError(error, 'no letter leaves until LETTER_URL has primeiro=')
      }
      const left = progress.begun ? null : await this.#withdraw(batch)
      for (const { message, reject } of batch) reject(toSendError(error, left?.has(message.reference) === false))
    }
  }

  /** The letters that stay in a lot nevertheless; null: nobody knows. */
  async #withdraw(batch: readonly Waiting[]): Promise<Map<string, LotPlace> | null> {
    try {
      return await this.#options.journal.leave(batch.map(({ message }) => message.reference))
    } catch (error) {
      this.#options.onError(error, 'the journal of lots of e-Carta')
      return null
    }
  }

  async #upload(lot: number, members: readonly Member[], progress: { begun: boolean }): Promise<void> {
    const { journal, onError } = this.#options
    const { matrix, sftp } = this.#account
    const bytes = packLot(
      matrix,
      lot,
      members.map(({ message, object }) => this.#toObject(message, object)),
    )
    const letters = members.map(({ message: { reference }, object }) => ({ reference, object }))
    const signal = AbortSignal.any([abandoned(members.map(member => member.signal)), AbortSignal.timeout(TIMEOUT_MS)])
    const placed = await withSftp(sftp, signal, session =>
      placeLot(session, this.#path(lot), bytes, async upload => {
        progress.begun = true
        progress.begun = await journal.begin(lot, upload, letters)
        return progress.begun
      }),
    )
    if (!placed) throw new Error(`lot ${lot} was given up: some of its letters left it`)
    // Known already: whoever asks later finds the file, or what the post says of it.
    await journal.uploaded(lot).catch(error => onError(error, 'the journal of lots of e-Carta'))
    for (const { object, resolve } of members) resolve(this.#receipt({ lot, object }))
  }

  #look({ lot, upload }: LotPlace, signal: AbortSignal): Promise<void> {
    const known = this.#looks.get(lot)
    if (known !== undefined) return known
    const outcome = this.#lookNow(lot, upload, signal)
    this.#looks.set(lot, outcome)
    return outcome
  }

  async #lookNow(lot: number, upload: LotPlace['upload'], signal: AbortSignal): Promise<void> {
    const { journal } = this.#options
    if (upload === null) throw new Error(`lot ${lot} was begun by an earlier version`)
    await withSftp(this.#account.sftp, signal, session =>
      lookForLot(session, this.#path(lot), upload, outcome =>
        outcome === 'left' ? journal.uploaded(lot) : journal.dissolve(lot),
      ),
    )
  }

  #path(lot: number): string {
    return `${this.#account.folder}/${lotFileName(this.#account.matrix, lot)}`
  }

  #receipt({ lot, object }: Pick<LotPlace, 'lot' | 'object'>): Receipt {
    return { references: [objectName(lot, object)], answer: lotFileName(this.#account.matrix, lot), delivered: false }
  }

  #toObject({ layout, recipient, sender, pdf }: LetterMessage, object: number): LotObject {
    const { card, contract, products } = this.#account
    const line = {
      card,
      contract,
      product: products[layout] ?? products.registrada!,
      ...named('recipient', recipient.name, recipient.address),
      ...named('sender', sender.name, sender.address!),
    }
    return { object, line: line as LetterLine, pdf }
  }

  #collectLater(ms: number): void {
    this.#returns = setTimeout(() => {
      const work = this.#collect()
        .catch(error => {
          if (!this.#stop.signal.aborted) this.#options.onError(error, 'returns of e-Carta')
        })
        .finally(() => {
          if (!this.#stop.signal.aborted) this.#collectLater(this.#account.returnsEveryMs)
        })
      this.#fly(work)
    }, ms)
  }

  /** A return is moved away only once what it says is committed; one that is read twice says nothing new. */
  async #collect(): Promise<void> {
    const { sftp, returns, done, matrix } = this.#account
    const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(RETURNS_TIMEOUT_MS)])
    await withSftp(sftp, signal, async session => {
      const names = (await session.list(returns)).filter(name => isReturn(matrix, name)).sort()
      for (const name of names) {
        try {
          await this.#take(name, await session.read(`${returns}/${name}`))
          await session.move(`${returns}/${name}`, `${done}/${name}`)
        } catch (error) {
          this.#options.onError(error, `return ${name} of e-Carta`)
        }
      }
    })
  }

  async #take(name: string, bytes: Buffer): Promise<void> {
    const { reports, receipts } = readReturn(name, bytes)
    await this.#options.onEvents(reports)
    for (const { name: letter, type, bytes: image } of receipts) await this.#options.onReceipt(letter, { type, bytes: image })
  }
}

type Member = Waiting & { object: number }

function toSendError(cause: unknown, stayed: boolean): SendError {
  const answer = String(cause)
  if (!stayed) return new SendError('uncertain', 'Não se sabe se os Correios (e-Carta) receberam o lote.', { answer, cause })
  return cause instanceof LotTaken
    ? new SendError('temporary', TAKEN, { answer, cause })
    : new SendError('temporary', 'Os Correios (e-Carta) não puderam ser alcançados.', { answer, cause })
}

/** Fires once nobody waits any more. */
function abandoned(signals: readonly AbortSignal[]): AbortSignal {
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

const named = (side: string, name: string, address: PostalAddress): Record<string, string> => ({
  [`${side}Name`]: name,
  [`${side}Street`]: address.street,
  [`${side}Number`]: address.number,
  [`${side}Complement`]: address.complement,
  [`${side}District`]: address.district,
  [`${side}City`]: address.city,
  [`${side}State`]: address.state,
  [`${side}Postcode`]: address.postcode,
})
