import type { Config } from './config.js'
import { demoParts } from './demo.js'

export interface Started {
  api: string
  simulator: string | null
  /** The demo account's; null: there is none, or real carriers are connected. */
  token: string | null
}

/** Shown after the start: the addresses, what is probably not meant, and the next step. */
export async function banner(config: Config, { api, simulator, token }: Started): Promise<string> {
  const database = config.databaseUrl === null ? `PostgreSQL embutido em ${config.dataFolder}` : 'PostgreSQL de DATABASE_URL'
  const lines = ['', 'Carteiro está no ar.', '', `  API    ${api}`, `  Saúde  ${api}/readyz`, `  Dados  ${database}`]
  if (simulator !== null) lines.push(`  Caixa de entrada simulada  ${simulator}`)
  for (const warning of config.warnings) lines.push('', `  ATENÇÃO: ${warning}`)
  lines.push('', ...(token === null ? nextSteps : await firstSend(api, token)))
  return `${[...lines, '', '  Ctrl-C encerra.', ''].join('\n')}\n`
}

const nextSteps = [
  '  Próximo passo: uma conta e o token dela.',
  '',
  'carteiro account create --name minha-empresa',
  'carteiro token issue --account minha-empresa',
]

/** Ready to be pasted into a shell. */
async function firstSend(api: string, token: string): Promise<string[]> {
  const message = { subject: 'Aviso de vencimento', content: '<p>Seu contrato vence em 30 dias.</p>' }
  const body = JSON.stringify({ nameTo: 'Maria da Silva', ...message, ...(await demoParts()) })
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
