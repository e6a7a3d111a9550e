import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/errors.js'
import { signMessage } from '../domain/webhook.js'

/**
 * Events of an account brought to a machine that nobody can call. Each is confirmed only after it was forwarded, in order:
 * a connection that breaks, on either side, makes them late, never lost.
 */
export interface ForwardingOptions {
  /** The gateway. */
  url: string
  token: string
  forwardTo: string
  interests: Record<string, unknown>
  onOpen(listener: { id: string; secret: string }): void
  onForwarded(forwarded: { message: string; status: number; body: string }): void
  onTrouble(text: string): void
  signal: AbortSignal
}

interface Heard {
  id: string
  corpo: string
}

const WAIT_SECONDS = 20
const FORWARD_TIMEOUT_MS = 30_000
const LONGEST_PAUSE_MS = 10_000

export async function forward(options: ForwardingOptions): Promise<void> {
  const { signal } = options
  const opened = (await ask(options, 'POST', '/gw/webhooks/listen', options.interests)) as { id: string; segredo: string } | null
  if (opened === null) return
  const { id, segredo } = opened
  const secret = Buffer.from(segredo.replace(/^whsec_/, ''), 'base64')
  options.onOpen({ id, secret: segredo })
  const path = `/gw/webhooks/listen/${id}`
  let confirmed: string[] = []
  while (!signal.aborted) {
    const heard = (await ask(options, 'POST', path, { confirmados: confirmed, espera: WAIT_SECONDS })) as Heard[] | null
    if (heard === null) break
    confirmed = []
    for (const message of heard) {
      if (!(await deliver(options, secret, message))) break
      confirmed.push(message.id)
    }
  }
  const parting = { ...options, signal: AbortSignal.timeout(5_000) }
  if (confirmed.length > 0) await ask(parting, 'POST', path, { confirmados: confirmed }).catch(() => {})
  await ask(parting, 'DELETE', `/gw/webhooks/${id}`).catch(() => {})
}

/** Tries until an answer comes; null once we are told to stop. A refusal of ours is final. */
async function ask({ url, token, signal, onTrouble }: ForwardingOptions, method: string, path: string, body?: object) {
  for (let pauseMs = 500; !signal.aborted; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: token, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout((WAIT_SECONDS + 20) * 1_000)]),
      })
      const answer = (await response.json()) as { data?: unknown; message?: string }
      if (response.ok) return answer.data
      if (response.status < 500 && response.status !== 429)
        throw new OperatorError(`A API recusou (${response.status}): ${answer.message}`)
      onTrouble(`A API respondeu ${response.status}; tentando de novo.`)
    } catch (error) {
      if (error instanceof OperatorError) throw error
      if (!signal.aborted) onTrouble(`Sem conexão com ${url}; tentando de novo.`)
    }
    await pause(pauseMs, signal)
  }
  return null
}

/** Any answer of the developer's machine counts: it has seen the event. False once we are told to stop. */
async function deliver(
  { forwardTo, signal, onForwarded, onTrouble }: ForwardingOptions,
  secret: Buffer,
  { id, corpo }: Heard,
): Promise<boolean> {
  for (let pauseMs = 250; !signal.aborted; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2)) {
    const seconds = Math.floor(Date.now() / 1_000)
    try {
      const response = await fetch(forwardTo, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': signMessage([secret], id, seconds, corpo),
        },
        body: corpo,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_TIMEOUT_MS)]),
      })
      await response.arrayBuffer().catch(() => {})
      onForwarded({ message: id, status: response.status, body: corpo })
      return true
    } catch {
      if (!signal.aborted) onTrouble(`${forwardTo} não respondeu; tentando de novo.`)
    }
    await pause(pauseMs, signal)
  }
  return false
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).then(undefined, () => {})
