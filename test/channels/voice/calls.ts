import type { VoiceMessage, VoiceScript } from '../../../src/channels/voice/voice-message.js'

/** A call that every carrier takes; tests change one thing at a time. */
export const call = (script: Partial<VoiceScript> = {}, more: Partial<VoiceMessage> = {}): VoiceMessage => ({
  reference: '0190a3c2-7b1e-7000-8000-000000000001.voice.1',
  to: '+5511987654321',
  againMs: null,
  ...more,
  script: {
    text: 'Seu contrato vence amanhã.',
    greeting: 'Olá. Esta é uma ligação do Banco Exemplo.',
    neutral: 'Olá. Esta é uma ligação do Banco Exemplo. Fale conosco.',
    key: false,
    ...script,
  },
})
