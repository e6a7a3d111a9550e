import { firstSend } from '../../channels/first-send.js'
import type { Config } from '../config.js'

export interface Started {
  api: string
  simulator: string | null
  /** The demo account's; null: there is none, or real carriers are connected. */
  token: string | null
  /** By which the first operator signs in to the console; null: there is an operator. */
  link: string | null
}

/** Shown after the start: the addresses, what is probably not meant, and the next step. */
export async function banner(config: Config, { api, simulator, token, link }: Started): Promise<string> {
  const database = config.databaseUrl === null ? `PostgreSQL embutido em ${config.dataFolder}` : 'PostgreSQL de DATABASE_URL'
  const lines = ['', 'Carteiro está no ar.', '', `  API    ${api}`, `  Saúde  ${api}/readyz`, `  Dados  ${database}`]
  lines.push(`  Console  ${api}/console`, `  Guia   ${api}/docs/guia/`)
  if (simulator !== null) lines.push(`  Caixa de entrada simulada  ${simulator}`)
  for (const warning of config.warnings) lines.push('', `  ATENÇÃO: ${warning}`)
  if (link !== null) lines.push('', '  Primeiro acesso ao console (vale uma vez, por 24 horas):', `  ${link}`)
  lines.push('', ...(token === null ? nextSteps : await firstCommand(api, token)))
  return `${[...lines, '', '  Ctrl-C encerra.', ''].join('\n')}\n`
}

const nextSteps = [
  '  Próximo passo: uma conta e o token dela.',
  '',
  'carteiro account create --name minha-empresa',
  'carteiro token issue --account minha-empresa',
]

/** Ready to be pasted into a shell. */
async function firstCommand(api: string, token: string): Promise<string[]> {
  const body = JSON.stringify(await firstSend(Date.now()))
  return [
    '  Conta de demonstração: demo',
    `  Token  ${token}`,
    '',
    '  Primeiro envio:',
    '',
    `curl ${api}/gw/email \\`,
    `  -H 'Authorization: ${token}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${body}'`,
  ]
}
