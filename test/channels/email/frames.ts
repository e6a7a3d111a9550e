import type { Frame } from '../../../src/channels/email/message/frame.js'
import { completeSettings, type StoredSettings } from '../../../src/domain/account.js'
import { brandColor, brandName, senderDetails } from '../../../src/domain/send/sender.js'

export const IDENTITY: StoredSettings = {
  'brand.name': 'Banco Aurora',
  'brand.color': '#1f3f8f',
  'sender.legalName': 'Aurora Cobranças e Serviços S.A.',
  'sender.document': '11222333000181',
  'sender.phone': '0800 123 4567',
  'sender.site': 'https://www.aurora.com.br',
  'sender.privacy': 'privacidade@aurora.com.br',
}

/** The frame of an e-mail of an account with these settings. */
export function frameWith(code: string, stored: StoredSettings = {}, more: Partial<Frame> = {}): Frame {
  const settings = completeSettings(stored)
  return {
    sender: { name: brandName(settings, 'Acme'), color: brandColor(settings), logo: null, details: senderDetails(settings) },
    subject: 'Aviso de vencimento',
    recipientName: 'Maria da Silva',
    link: `https://n.test/n/${code}`,
    image: `https://n.test/o/${code}.gif`,
    ...more,
  }
}
