import ssh2 from 'ssh2'
import { OperatorError } from '../../domain/errors.js'
import { readCredential, refuseUnknown } from '../url-options.js'
import type { SftpAccount } from './sftp.js'

/** The contract with the post and where its folders are, read from LETTER_URL. */
export interface ECartaAccount {
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
  /** null: wherever the last one ended. */
  firstLot: number | null
}

const OPTIONS = [
  ...['matriz', 'contrato', 'cartao', 'chave', 'simples', 'registrada', 'lote', 'espera'],
  ...['retorno', 'lidos', 'retornos', 'primeiro', 'rate'],
]

/** ecarta+sftp://usuario@servidor:22/pasta?matriz=…&contrato=…&cartao=…&chave=SHA256:… */
export function readECartaAccount(url: URL, privateKey: string | null): ECartaAccount {
  const wrong = (what: string): never => {
    throw new OperatorError(`LETTER_URL: ${what} (docs/carta.md).`)
  }
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
  refuseUnknown(url, OPTIONS, wrong)
  if (url.username === '' || url.hostname === '') throw new OperatorError('LETTER_URL: o e-Carta pede usuário e servidor.')
  if (url.password === '' && privateKey === null) {
    throw new OperatorError('LETTER_URL: o e-Carta pede a senha na URL ou a chave em LETTER_KEY_FILE.')
  }
  if (privateKey !== null && ssh2.utils.parseKey(privateKey) instanceof Error) {
    throw new OperatorError('LETTER_KEY_FILE não é uma chave SSH privada que se possa ler.')
  }
  const folder = readCredential(url.pathname, wrong).replace(/\/+$/, '') || '/'
  // In a query a plus sign is a blank, which no fingerprint has.
  const fingerprint = value('chave')
    .replaceAll(' ', '+')
    .replace(/^SHA256:/, '')
    .replace(/=+$/, '')
  return {
    sftp: {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port || 22),
      username: readCredential(url.username, wrong),
      password: url.password === '' ? null : readCredential(url.password, wrong),
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
    firstLot: url.searchParams.has('primeiro') ? whole('primeiro', 1, 1, 999_999_999) : null,
  }
}
