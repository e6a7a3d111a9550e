/** The message in which people see an account's brand before it is saved. */
export const brandSample = {
  subject: 'Vencimento do contrato 4711',
  recipientName: 'Maria Souza',
  content:
    '<p>Prezada Maria,</p><p>O contrato 4711 vence no fim deste mês. Se já pagou, desconsidere este aviso.</p><p>Atenciosamente.</p>',
  path: '/n/exemplo',
} as const
