import ssh2 from 'ssh2'
import { OperatorError } from '../../../domain/errors.js'
import { integerReader, readCredential, readHost, refuseUnknown } from '../../url-options.js'
import type { SftpAccount } from './sftp.js'

/** The contract with Correios and the folders on its server. */
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
  /** null: the number after the last lot. */
  firstLot: number | null
}

const OPTIONS = 'matriz contrato cartao chave simples registrada lote espera retorno lidos retornos primeiro rate'.split(' ')

/** ecarta+sftp://usuario@servidor:22/pasta?matriz=…&contrato=…&cartao=…&chave=SHA256:… */
export function readECartaAccount(url: URL, privateKey: string | null): ECartaAccount {
  const wrong = (what: string): never => {
    throw new OperatorError(`LETTER_URL: ${what} (docs/carta.md).`)
  }
  const value = (name: string, fallback = ''): string =>
    url.searchParams.get(name) || fallback || wrong(`falta ${name}= na URL do e-Carta`)
  const integer = integerReader(url, wrong)
  const digits = (name: string): string => {
    const text = value(name)
    return /^\d{1,20}$/.test(text) ? text : wrong(`${name}= deve ter só dígitos`)
  }
  refuseUnknown(url, OPTIONS, wrong)
  if (url.username === '' || url.hostname === '') wrong('o e-Carta pede usuário e servidor')
  if (url.password === '' && privateKey === null) wrong('o e-Carta pede a senha na URL ou a chave em LETTER_KEY_FILE')
  if (privateKey !== null && ssh2.utils.parseKey(privateKey) instanceof Error) {
    throw new OperatorError(
      'LETTER_KEY_FILE não é uma chave SSH privada que se possa ler. Use uma chave OpenSSH ou PEM, sem senha.',
    )
  }
  const path = readCredential(url.pathname, () => wrong('a pasta tem um % que não é um código; escreva-o como %25'))
  const folder = path.replace(/\/+$/, '') || '/'
  // URLSearchParams reads a plus sign as a blank, and a fingerprint contains plus signs but no blanks.
  const fingerprint = value('chave')
    .replaceAll(' ', '+')
    .replace(/^SHA256:|=+$/g, '')
  return {
    sftp: {
      host: readHost(url),
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
    lotSize: integer('lote', 50, 1, 1_000),
    lotWaitMs: integer('espera', 2_000, 0, 10_000),
    returnsEveryMs: integer('retornos', 300, 1, 86_400) * 1_000,
    firstLot: url.searchParams.has('primeiro') ? integer('primeiro', 1, 1, 999_999_999) : null,
  }
}
