import type { WrittenEmail } from '../../../src/channels/email/email-message.js'

/** An e-mail as the gateway hands it over, with what a test wants different. */
export const email = (changes: Partial<WrittenEmail> = {}): WrittenEmail => ({
  reference: '019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b.email.1',
  envelopeFrom: 'b+019a1b2c3d4e7f508a6b7c8d9e0f1a2b.0123456789abcdef@bounce.example.com',
  to: 'joao@example.net',
  toName: 'João da Silva',
  from: 'avisos@orgao.example.com',
  fromName: 'Órgão de Avisos',
  subject: 'Notificação nº 1',
  html: '<p>Olá, <b>João</b>.</p>',
  text: 'Olá, João.',
  attachments: [],
  date: new Date('2026-07-18T04:01:32Z'),
  ...changes,
})
