import { createHash, randomUUID } from 'node:crypto'
import type { LetterMessage } from '../../../src/channels/letter/letter-message.js'
import type { PostalAddress } from '../../../src/channels/letter/postal-address.js'

const address: PostalAddress = {
  street: 'Rua das Flores',
  number: '100',
  complement: 'ap. 42',
  district: 'Centro',
  city: 'São Paulo',
  state: 'SP',
  postcode: '01000001',
}

/** A letter to a postcode; every one is another letter. */
export function letterTo(postcode: string, reference = `${randomUUID()}.letter.1`): LetterMessage {
  const pdf = Buffer.from(`%PDF-1.7 ${reference}`)
  return {
    reference,
    layout: 'registrada',
    subject: 'Notificação',
    recipient: { name: 'Maria da Silva', address: { ...address, postcode } },
    sender: { name: 'Banco Exemplo S.A.', address },
    pdf,
    sha256: createHash('sha256').update(pdf).digest('hex'),
    pages: 1,
    sheet: { reference },
  }
}
