import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import type { AttachmentLimits } from '../../domain/attachment.js'
import { Refusal, type RefusalCode } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence.js'
import type { SendRequest } from '../../domain/notification.js'
import { LARGE_BODY } from '../body.js'
import { readSend } from './read-send.js'

/**
 * Reads send requests: small ones at once, large ones (parsing, base64, hashes of tens of megabytes) in a thread of
 * their own, so that no other request waits for them. This file is both ends of that thread.
 */
export interface ReadSend {
  request: SendRequest
  /** Of the body as it came, for idempotency keys. */
  bodySha256: string | null
}

interface Question {
  id: number
  raw: Uint8Array
  hashBody: boolean
}

type Answer =
  | { id: number; read: ReadSend }
  | { id: number; refusal: { code: RefusalCode; details: string[] } }
  | { id: number; bug: string }

/** 36 MiB of "[]," would become gigabytes of objects: the thread dies of it, the server does not. */
const THREAD_HEAP_MIB = 512

export class SendReader {
  readonly #limits: AttachmentLimits
  readonly #pending = new Map<number, { resolve(read: ReadSend): void; reject(error: unknown): void }>()
  #thread: Worker | undefined
  #lastId = 0

  constructor(limits: AttachmentLimits) {
    this.#limits = limits
  }

  read(raw: Buffer, hashBody: boolean): ReadSend | Promise<ReadSend> {
    if (raw.length <= LARGE_BODY) return answer(raw, hashBody, this.#limits)
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#pending.set(id, { resolve, reject })
      const owned = raw.byteLength === raw.buffer.byteLength ? raw : Uint8Array.from(raw)
      this.#open().postMessage({ id, raw: owned, hashBody } satisfies Question, [owned.buffer as ArrayBuffer])
    })
  }

  async close(): Promise<void> {
    await this.#thread?.terminate()
  }

  #open(): Worker {
    if (this.#thread !== undefined) return this.#thread
    const thread = new Worker(new URL(import.meta.url), {
      workerData: this.#limits,
      resourceLimits: { maxOldGenerationSizeMb: THREAD_HEAP_MIB },
    })
    thread.unref()
    thread.on('message', (message: Answer) => this.#settle(message))
    // Nobody knows whose body it was: all that were being read may come again.
    thread.on('error', cause => this.#abandon(new Refusal('overloaded', [], { retryAfter: 1, cause })))
    thread.on('exit', () => {
      this.#thread = undefined
    })
    this.#thread = thread
    return thread
  }

  #settle(message: Answer): void {
    const pending = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if ('read' in message) pending?.resolve(message.read)
    else if ('refusal' in message) pending?.reject(new Refusal(message.refusal.code, message.refusal.details))
    else pending?.reject(new Error(message.bug))
  }

  #abandon(error: Error): void {
    this.#thread = undefined
    for (const pending of this.#pending.values()) pending.reject(error)
    this.#pending.clear()
  }
}

function answer(raw: Uint8Array, hashBody: boolean, limits: AttachmentLimits): ReadSend {
  return { request: readSend(raw, limits), bodySha256: hashBody ? sha256(raw) : null }
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort
  const limits = workerData as AttachmentLimits
  port.on('message', ({ id, raw, hashBody }: Question) => {
    try {
      const read = answer(raw, hashBody, limits)
      port.postMessage({ id, read } satisfies Answer, [
        ...new Set(read.request.attachments.map(file => file.bytes.buffer as ArrayBuffer)),
      ])
    } catch (error) {
      const refusal = error instanceof Refusal ? { code: error.code, details: error.details } : null
      port.postMessage((refusal === null ? { id, bug: String((error as Error).stack) } : { id, refusal }) satisfies Answer)
    }
  })
}
