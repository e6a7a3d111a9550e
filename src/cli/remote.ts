import { Command } from 'commander'
import { Carteiro, CarteiroError, NoAnswerError } from '../../client/client.js'
import { readBase, readConfig } from '../app/config.js'
import { OperatorError } from '../domain/errors.js'
import type { OutputOptions } from './output.js'

export type RemoteOptions = OutputOptions & { token?: string; url?: string }

/** A command that calls a running gateway with the token of an account. */
export const remoteCommand = (name: string, description: string, json = 'resultado em JSON'): Command =>
  new Command(name)
    .description(description)
    .option('--token <token>', 'token da conta (padrão: CARTEIRO_TOKEN)')
    .option('--url <url>', 'endereço da API (padrão: CARTEIRO_URL ou http://HOST:PORT)')
    .option('--json', json)

/** The address and the token that a command calls the gateway with. */
export function gatewayOf(options: RemoteOptions): { url: string; token: string } {
  const { client } = readConfig(process.env)
  const token = options.token ?? client.token
  if (token === null) throw new OperatorError('Informe o token da conta com --token ou CARTEIRO_TOKEN.')
  const url = options.url === undefined ? client.url : readBase(options.url.trim())
  if (url === null)
    throw new OperatorError(
      `--url: "${options.url}" não é um endereço como https://notifica.example.com, com http:// ou https:// e sem usuário, ? ou #.`,
    )
  return { url, token }
}

/** An answer of the gateway, or of a proxy that answers for one that is away. */
interface Reply {
  ok: boolean
  status: number
  /** null: the body is no JSON. */
  answer: { data?: unknown; message?: string } | null
}

export async function readReply(response: Response): Promise<Reply> {
  const { ok, status } = response
  return { ok, status, answer: readObject(await response.text()) }
}

function readObject(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

/** Whether the same question may get a better answer later. */
export const isTemporary = ({ ok, status }: Reply): boolean => ok || status >= 500 || status === 429

export const describeFailure = ({ status, answer }: Reply, url: string): string =>
  answer?.message === undefined
    ? `${url} respondeu ${status}, e não como a API. Confira --url (ou CARTEIRO_URL) e se o gateway está no ar.`
    : `A API recusou (${status}): ${answer.message}`

/** Calls the gateway. A refusal, or no answer, becomes an error of one sentence. */
export async function withGateway<T>(options: RemoteOptions, work: (carteiro: Carteiro) => Promise<T>): Promise<T> {
  const gateway = gatewayOf(options)
  try {
    return await work(new Carteiro(gateway))
  } catch (error) {
    if (error instanceof CarteiroError) throw new OperatorError(`O gateway recusou (${error.status}): ${error.message}`)
    if (error instanceof NoAnswerError)
      throw new OperatorError(
        `O gateway não respondeu em ${gateway.url}. O envio pode ter sido aceito: confira se ele está no ar e repita o comando com --key ${error.idempotencyKey}, para que nada saia duas vezes.`,
      )
    // What fetch throws where nobody answers.
    if (error instanceof TypeError || (error instanceof DOMException && error.name === 'TimeoutError'))
      throw new OperatorError(`O gateway não respondeu em ${gateway.url}. Confira --url (ou CARTEIRO_URL) e se ele está no ar.`)
    // The address belongs to another site.
    if (error instanceof SyntaxError)
      throw new OperatorError(`${gateway.url} não respondeu como a API. Confira --url (ou CARTEIRO_URL).`)
    throw error
  }
}
