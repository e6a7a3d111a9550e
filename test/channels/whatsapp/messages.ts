import type { WhatsappMessage } from '../../../src/channels/whatsapp/whatsapp-message.js'

/** A message that every rule accepts; tests change one thing at a time. */
export const whatsapp = (changes: Partial<WhatsappMessage> = {}): WhatsappMessage => ({
  reference: '0198c9a2-0000-7000-8000-000000000001.whatsapp.1',
  to: '+5511900000001',
  template: 'aviso',
  language: 'pt_BR',
  header: [],
  body: [{ name: null, text: 'Maria' }],
  buttons: [],
  ...changes,
})
