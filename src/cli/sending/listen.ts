import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { OperatorError } from '../../domain/errors.js'
import { HmacKey } from '../../domain/hmac-key.js'
import { DEFAULT_PAYLOAD_VERSION, payloadVersions, readSecret, signedHeaders } from '../../domain/webhook.js'
import { channelNames, required } from '../options.js'
import { oneLine, openStopSignal, print } from '../output.js'
import { describeFailure, gatewayOf, isTemporary, type RemoteOptions, readReply, remoteCommand } from '../remote.js'

interface ListenOptions extends RemoteOptions {
  forwardTo: string
  payload: string
  channels?: string
  statuses?: string
}

export function listenCommand(): Command {
  const description = 'leva os eventos da conta a um endereço desta máquina, assinados, enquanto roda'
  return remoteCommand('listen', description, 'uma linha em JSON por evento; a primeira traz o segredo')
    .requiredOption('--forward-to <url>', 'endereço que recebe os avisos, como http://localhost:3000/avisos')
    .addOption(new Option('--payload <versão>', 'versão do corpo').choices(payloadVersions).default(DEFAULT_PAYLOAD_VERSION))
    .option('--channels <canais>', `só estes canais, separados por vírgulas: ${channelNames.join(', ')}`)
    .option('--statuses <situações>', 'só estas situações, separadas por vírgulas: enviado, entregue, lido, …')
    .action(listen)
}

interface Api {
  url: string
  token: string
  signal: AbortSignal
}

interface Message {
  id: string
  corpo: string
}

const WAIT_SECONDS = 20
const FORWARD_TIMEOUT_MS = 30_000
const LONGEST_PAUSE_MS = 10_000

/**
 * Forwards the events of an account to a machine that nobody can call. Each event is confirmed only after it was forwarded, in
 * order: a connection that breaks, on either side, delays events and loses none.
 */
async function listen({ forwardTo, json, ...options }: ListenOptions): Promise<void> {
  const gateway = gatewayOf(options)
  // localhost:3000/avisos parses too, as an address of the scheme "localhost".
  if (!/^https?:\/\//i.test(forwardTo) || !URL.canParse(forwardTo))
    throw new OperatorError('--forward-to deve ser uma URL de http ou https, como http://localhost:3000/avisos.')
  const signal = openStopSignal()
  const show = (record: object, text: string): void => print(json ? JSON.stringify(record) : text)
  const api: Api = { ...gateway, signal }
  // The API refuses a name that is no channel, and lists the channels.
  const filters = { versao: options.payload, canais: names(options.channels), situacoes: names(options.statuses) }
  const opened = (await ask(api, 'POST', '/gw/webhooks/listen', filters)) as { id: string; segredo: string } | null
  if (opened === null) return
  const { id, segredo: secret } = opened
  const key = required(readSecret(secret), 'A API respondeu com um segredo que não se pode ler.')
  show({ listener: id, secret, forwardTo }, `Segredo  ${secret}\nEscutando; Ctrl-C encerra.`)
  const path = `/gw/webhooks/listen/${id}`
  let confirmed: string[] = []
  while (!signal.aborted) {
    const messages = (await ask(api, 'POST', path, { confirmados: confirmed, espera: WAIT_SECONDS })) as Message[] | null
    if (messages === null) break
    confirmed = []
    for (const message of messages) {
      const status = await deliver(forwardTo, key, message, signal)
      if (status === null) break
      const event = JSON.parse(message.corpo) as Record<string, string>
      const words = [status, event.channel, event.status ?? event.description, event.notificationID, message.id]
      show({ message: message.id, status, event }, oneLine(words.join('  ')))
      confirmed.push(message.id)
    }
  }
  const parting = { ...api, signal: AbortSignal.timeout(5_000) }
  if (confirmed.length > 0) await ask(parting, 'POST', path, { confirmados: confirmed }).catch(() => {})
  await ask(parting, 'DELETE', `/gw/webhooks/${id}`).catch(() => {})
}

/** Tries until the API answers; null once the command is stopped. A refusal is final. */
async function ask({ url, token, signal }: Api, method: string, path: string, body?: object): Promise<unknown> {
  for (let pauseMs = 500; !signal.aborted; pauseMs *= 2) {
    try {
      const request = fetch(`${url}${path}`, {
        method,
        headers: { authorization: token, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, AbortSignal.timeout((WAIT_SECONDS + 20) * 1_000)]),
      })
      const reply = await request.then(readReply)
      if (reply.ok && reply.answer !== null) return reply.answer.data
      const failure = describeFailure(reply, url)
      if (!isTemporary(reply)) throw new OperatorError(failure)
      warn(`${failure} Tentando de novo.`)
    } catch (error) {
      if (error instanceof OperatorError) throw error
      if (!signal.aborted) warn(`Sem conexão com ${url}; tentando de novo.`)
    }
    await pause(pauseMs, signal)
  }
  return null
}

/** Tries until the developer's program answers; null once the command is stopped. Any status counts: the program has the event. */
async function deliver(forwardTo: string, key: Buffer, { id, corpo }: Message, signal: AbortSignal): Promise<number | null> {
  for (let pauseMs = 250; !signal.aborted; pauseMs *= 2) {
    try {
      const response = await fetch(forwardTo, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...signedHeaders([new HmacKey(key)], id, Date.now(), corpo) },
        body: corpo,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(FORWARD_TIMEOUT_MS)]),
      })
      await response.arrayBuffer().catch(() => {})
      return response.status
    } catch {
      if (!signal.aborted) warn(`${forwardTo} não respondeu; tentando de novo.`)
    }
    await pause(pauseMs, signal)
  }
  return null
}

const warn = (text: string): boolean => process.stderr.write(`${text}\n`)

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(Math.min(ms, LONGEST_PAUSE_MS), undefined, { signal }).catch(() => {})

const names = (text: string | undefined): string[] => text?.split(',').map(part => part.trim()) ?? []
