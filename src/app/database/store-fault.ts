import { FilesUnavailable, StoreBusy, StoreUnavailable } from '../../domain/errors.js'

/** What an answer of the server means to who runs a command, and the cure. By SQLSTATE. */
const ANSWERS: Readonly<Record<string, string>> = {
  '25006':
    'O servidor de DATABASE_URL só aceita leituras: é uma réplica, ou foi posto em modo de leitura. Aponte DATABASE_URL ao primário e repita.',
  '28000':
    'O servidor do banco recusou o usuário de DATABASE_URL. Confira o usuário, o TLS (sslmode) e o pg_hba.conf do servidor.',
  '28P01': 'O servidor do banco recusou o usuário ou a senha de DATABASE_URL. Corrija-os e repita.',
  '3D000': 'O banco de DATABASE_URL não existe nesse servidor. Corrija o nome, ou crie o banco, e repita.',
  '40001': 'Duas mudanças ao mesmo tempo se atrapalharam, e esta foi desfeita. Repita o comando.',
  '40P01': 'Duas mudanças ao mesmo tempo se atrapalharam, e esta foi desfeita. Repita o comando.',
  '42501':
    'O usuário do banco não tem a permissão de que o comando precisa. Informe o dono das tabelas em DATABASE_OWNER_URL e repita.',
  '53100': 'O disco do servidor do banco está cheio. Libere espaço nele e repita.',
  '53200': 'O servidor do banco está sem memória. Feche outras sessões, ou dê mais memória a ele, e repita.',
  '53300':
    'O servidor do banco está no ar, mas não aceita mais conexões. Feche as que sobram, diminua DATABASE_POOL ou aumente max_connections, e repita.',
  '55P03':
    'Outra sessão segura as linhas ou tabelas de que o comando precisa, e a espera acabou. Veja em pg_stat_activity quem as segura (uma migração, um psql aberto?) e repita.',
  '57014':
    'O banco está no ar, mas o comando passou do prazo e foi cancelado. Veja em pg_stat_activity o que o ocupa, espere que termine e repita.',
  '57P01': 'O servidor do banco está parando, ou um administrador encerrou a conexão. Espere que ele volte e repita.',
  '57P02': 'O servidor do banco caiu e está se recuperando. Espere que ele volte e repita.',
  '57P03': 'O servidor do banco está iniciando, ou parando, e ainda não aceita conexões. Espere e repita.',
}
/** The schema is not the one that this version works with. */
const SCHEMA = ['42P01', '42703', '42883']
const UNREACHED = ['ECONNREFUSED', 'ENOTFOUND', 'ETIMEDOUT']

const BUSY =
  'O banco de dados está no ar, mas todas as conexões deste processo estão em uso. Repita em alguns segundos, ou aumente DATABASE_POOL.'
const UNKNOWN_COMMIT = 'Não se sabe se a mudança foi gravada: confira antes de repetir.'

/** For people: what happened to the database, with the cure. null: the error is not one of the database, or is a fault of ours. */
export function explainStoreFault(error: unknown): string | null {
  if (error instanceof FilesUnavailable) return null
  if (error instanceof StoreBusy) return BUSY
  if (error instanceof StoreUnavailable) {
    const said = describe(error.cause, error.reachable)
    return error.maybeCommitted ? `${said} ${UNKNOWN_COMMIT}` : said
  }
  const code = codeOf(error)
  return code !== '42501' && (Object.hasOwn(ANSWERS, code) || UNREACHED.includes(code)) ? describe(error, false) : null
}

const codeOf = (error: unknown): string => (error as { code?: string } | null)?.code ?? ''

function describe(cause: unknown, reachable: boolean): string {
  const code = codeOf(cause)
  const message = (cause as Error | undefined)?.message ?? ''
  const said = [code, message].filter(part => part !== '').join(': ')
  if (Object.hasOwn(ANSWERS, code)) return `${ANSWERS[code]!} (${said})`
  if (SCHEMA.includes(code)) return `O esquema do banco não é o desta versão. Rode "carteiro migrate" e repita. (${said})`
  if (reachable) return `O banco de dados está no ar, mas respondeu com um erro (${said}). Veja o registro do servidor e repita.`
  return `O banco de dados não respondeu (${code === '' ? message : code}). Verifique DATABASE_URL e se o servidor está no ar.`
}
