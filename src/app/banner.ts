import type { Config } from './config.js'

export interface Started {
  address: string
  config: Config
  token: string | null
  simulator: string | null
}

const ADDRESS = { logradouro: 'Rua das Flores', numero: '100', cidade: 'São Paulo', uf: 'SP', cep: '01000-001' }

/** What a person sees after the start, on standard output: where it is, and a first send ready to paste. */
export function banner({ address, config, token, simulator }: Started): string {
  const database = config.databaseUrl === null ? `PostgreSQL embutido em ${config.dataFolder}` : 'PostgreSQL de DATABASE_URL'
  const lines = ['', 'Carteiro está no ar.', '', `  API    ${address}`, `  Saúde  ${address}/readyz`, `  Dados  ${database}`]
  if (simulator !== null) lines.push(`  Caixa de entrada simulada  ${simulator}`)
  if (token !== null) {
    const body = {
      nameTo: 'Maria da Silva',
      to: 'maria@example.com',
      subject: 'Aviso de vencimento',
      content: '<p>Seu contrato vence em 30 dias.</p>',
      sms: { number: '11987654321', typeSend: '2', customMessage: 'Voce tem uma notificacao: {SHORT_LINK}' },
      whatsapp: { number: '11987654321', variables: { template: 'notificacao_contrato', nome: 'Maria', contrato: '4711' } },
      voz: { number: '11987654321', template: 'ligacao-lembrete', payload: { nome: 'Maria', contrato: '4711' } },
      carta: {
        name: 'Maria da Silva',
        modelo: 'registrada',
        template: 'notificacao-extrajudicial',
        variables: { nome: 'Maria', contrato: '4711', vencimento: '10/12/2026', ...ADDRESS },
      },
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
