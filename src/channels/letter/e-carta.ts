import ssh2 from 'ssh2'
import { OperatorError } from '../../domain/errors.js'
import type { PostalAddress } from '../../domain/postal-address.js'
import type { Carrier, CarrierNews, LetterMessage, Provider, Receipt } from '../provider.js'
import { SendError } from '../provider.js'
import { isReturn, type LetterLine, type LotObject, lotFileName, objectName, packLot, readReturn } from './e-carta-files.js'
import { type SftpAccount, withSftp } from './sftp.js'

/**
 * The post's e-Carta over SFTP: letters leave as lots, returns are fetched from a folder. Which letter is in which lot is
 * written down before the file is made, so that a lot that is made again has the same name and the same bytes.
 */
export interface LotJournal {
  /** Gives letters a place in a new lot; a letter that has one keeps it. */
  assign(letters: readonly JournalLetter[]): Promise<Map<string, LotPlace>>
  /** The letters of a lot that is not with the post yet. */
  read(lot: number): Promise<LotObject[]>
  uploaded(lot: number): Promise<void>
}

interface JournalLetter {
  reference: string
  line: LetterLine
  sha256: string
}

interface LotPlace {
  lot: number
  object: number
  uploaded: boolean
}

export interface ECartaOptions {
  journal: LotJournal
  privateKey: string | null
  onNews(news: readonly CarrierNews[]): Promise<void>
  /** A signed receipt of delivery, by the post's name for the letter. */
  onReceipt(name: string, image: { type: 'png' | 'jpg'; bytes: Uint8Array }): Promise<void>
  onError(error: unknown, what: string): void
}

interface ECartaAccount {
  sftp: SftpAccount
  folder: string
  returns: string
  done: string
  matrix: string
  contract: string
  card: string
  products: Record<string, string>
  lotSize: number
  lotWaitMs: number
  returnsEveryMs: number
}

export const E_CARTA = 'e-carta'
const TIMEOUT_MS = 18_000
const RETURNS_TIMEOUT_MS = 120_000

/** ecarta+sftp://usuario@servidor:22/pasta?matriz=…&contrato=…&cartao=…&chave=SHA256:… */
function readECartaAccount(url: URL, privateKey: string | null): ECartaAccount {
  const value = (name: string, fallback?: string): string => {
    const given = url.searchParams.get(name) ?? fallback
    if (given === undefined || given === '')
      throw new OperatorError(`LETTER_URL: falta ${name}= na URL do e-Carta (docs/carta.md).`)
    return given
  }
  const whole = (name: string, fallback: number, least: number, most: number): number => {
    const number = Number(url.searchParams.get(name) ?? fallback)
    if (Number.isInteger(number) && number >= least && number <= most) return number
    throw new OperatorError(`LETTER_URL: ${name}= deve ser um número de ${least} a ${most}.`)
  }
  const digits = (name: string): string => {
    const text = value(name)
    if (!/^\d{1,20}$/.test(text)) throw new OperatorError(`LETTER_URL: ${name}= deve ter só dígitos.`)
    return text
  }
  if (url.username === '' || url.hostname === '') throw new OperatorError('LETTER_URL: o e-Carta pede usuário e servidor.')
  if (url.password === '' && privateKey === null) {
    throw new OperatorError('LETTER_URL: o e-Carta pede a senha na URL ou a chave em LETTER_KEY_FILE.')
  }
  if (privateKey !== null && ssh2.utils.parseKey(privateKey) instanceof Error) {
    throw new OperatorError('LETTER_KEY_FILE não é uma chave SSH privada que se possa ler.')
  }
  const folder = decodeURIComponent(url.pathname).replace(/\/+$/, '') || '/'
  // In a query a plus sign is a blank, which no fingerprint has.
  const fingerprint = value('chave')
    .replaceAll(' ', '+')
    .replace(/^SHA256:/, '')
    .replace(/=+$/, '')
  return {
    sftp: {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || 22),
      username: decodeURIComponent(url.username),
      password: url.password === '' ? null : decodeURIComponent(url.password),
      privateKey,
      fingerprint,
    },
    folder,
    returns: value('retorno', `${folder}/retorno`),
    done: value('lidos', `${folder}/lidos`),
    matrix: digits('matriz'),
    contract: digits('contrato'),
    card: digits('cartao'),
    products: { simples: value('simples', '10014'), registrada: value('registrada', '10022') },
    lotSize: whole('lote', 50, 1, 1_000),
    lotWaitMs: whole('espera', 2_000, 0, 10_000),
    returnsEveryMs: whole('retornos', 300, 1, 86_400) * 1_000,
  }
}

export function eCartaProvider(options: ECartaOptions): Provider<LetterMessage> {
  return {
    name: E_CARTA,
    channel: 'letter',
    whenUncertain: 'safe',
    takenIs: 'processed',
    timeoutMs: TIMEOUT_MS,
    open: async url => new ECarta(readECartaAccount(url, options.privateKey), options),
  }
}

interface Waiting {
  message: LetterMessage
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

  constructor(account: ECartaAccount, options: ECartaOptions) {
    this.#account = account
    this.#options = options
    this.#collectLater(0)
  }

  send(message: LetterMessage, signal: AbortSignal): Promise<Receipt> {
    if (message.sender.address === null) {
      const cure = 'Falta o endereço do remetente, que os Correios exigem: defina letter.address na conta (account set).'
      return Promise.reject(new SendError('permanent', cure))
    }
    if (signal.aborted) return Promise.reject(new SendError('temporary', 'O envio foi interrompido antes de começar.'))
    return new Promise((resolve, reject) => {
      const waiting = { message, resolve, reject }
      this.#waiting.push(waiting)
      const stop = (): void => reject(new SendError('uncertain', 'Os Correios não responderam a tempo.'))
      signal.addEventListener('abort', stop, { once: true })
      if (this.#waiting.length >= this.#account.lotSize) this.#leave()
      else this.#timer ??= setTimeout(() => this.#leave(), this.#account.lotWaitMs)
    })
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

  async #deliver(batch: readonly Waiting[]): Promise<void> {
    const { journal } = this.#options
    try {
      const places = await journal.assign(batch.map(({ message }) => this.#toJournal(message)))
      const lots = new Map<number, Waiting[]>()
      for (const waiting of batch) {
        const { lot, object, uploaded } = places.get(waiting.message.reference)!
        const receipt = {
          references: [objectName(lot, object)],
          answer: lotFileName(this.#account.matrix, lot),
          delivered: false,
        }
        if (uploaded) waiting.resolve(receipt)
        else lots.set(lot, [...(lots.get(lot) ?? []), { ...waiting, resolve: () => waiting.resolve(receipt) }])
      }
      for (const [lot, members] of lots) await this.#upload(lot, members)
    } catch (error) {
      // Nothing of what was not uploaded has left: its place in its lot waits for it.
      const cause = new SendError('temporary', 'O lote de cartas não pôde ser preparado.', {
        answer: String(error),
        cause: error,
      })
      for (const waiting of batch) waiting.reject(cause)
    }
  }

  async #upload(lot: number, members: readonly Waiting[]): Promise<void> {
    const { journal } = this.#options
    const { matrix, folder, sftp } = this.#account
    try {
      const objects = await journal.read(lot)
      // None: another worker was faster, and the lot is with the post.
      if (objects.length > 0) {
        const path = `${folder}/${lotFileName(matrix, lot)}`
        const bytes = packLot(matrix, lot, objects)
        await withSftp(sftp, AbortSignal.timeout(TIMEOUT_MS), session => session.place(path, bytes))
        await journal.uploaded(lot)
      }
      for (const { resolve } of members) resolve({ references: [], answer: '', delivered: false })
    } catch (error) {
      // Safe either way: the next try puts the same bytes under the same name, or finds them there.
      const failure = new SendError('temporary', 'Os Correios (e-Carta) não puderam ser alcançados.', {
        answer: String(error),
        cause: error,
      })
      for (const { reject } of members) reject(failure)
    }
  }

  #toJournal({ reference, layout, recipient, sender, sha256 }: LetterMessage): JournalLetter {
    const { card, contract, products } = this.#account
    const line = {
      card,
      contract,
      product: products[layout] ?? products.registrada!,
      ...named('recipient', recipient.name, recipient.address),
      ...named('sender', sender.name, sender.address!),
    }
    return { reference, sha256, line: line as LetterLine }
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
    await this.#options.onNews(reports)
    for (const { name: letter, type, bytes: image } of receipts) await this.#options.onReceipt(letter, { type, bytes: image })
  }
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
