import type { Config } from './config.js'

export interface Started {
  address: string
  config: Config
  token: string | null
  simulator: string | null
  /** The members of the first send that name its channels. */
  parts: Record<string, unknown>
}

/** What a person sees after the start, on standard output: where it is, and a first send ready to paste. */
export function banner({ address, config, token, simulator, parts }: Started): string {
  const database = config.databaseUrl === null ? `PostgreSQL embutido em ${config.dataFolder}` : 'PostgreSQL de DATABASE_URL'
  const lines = ['', 'Carteiro está no ar.', '', `  API    ${address}`, `  Saúde  ${address}/readyz`, `  Dados  ${database}`]
  if (simulator !== null) lines.push(`  Caixa de entrada simulada  ${simulator}`)
  if (token !== null) {
    const body = {
      nameTo: 'Maria da Silva',
      subject: 'Aviso de vencimento',
      content: '<p>Seu contrato vence em 30 dias.</p>',
      ...parts,
    }
    lines.push(
      '',
      '  Conta de demonstração: demo',
      `  Token  ${token}`,
      '',
      '  Primeiro envio:',
      '',
      `curl ${address}/gw/email \\`,
      `  -H 'Authorization: ${token}' \\`,
      "  -H 'Content-Type: application/json' \\",
      `  -d '${JSON.stringify(body)}'`,
    )
  }
  lines.push('', '  Ctrl-C encerra.', '')
  return `${lines.join('\n')}\n`
}
