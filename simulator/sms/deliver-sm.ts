import { randomInt } from 'node:crypto'
import { planParts } from '../../src/domain/delivery/message-parts.js'
import { fateOf, type ReceiptType } from './fates.js'
import type { Sms } from './sms.js'

/** The fields of a deliver_sm PDU. */
export type DeliverSm = Record<string, unknown>

/** message_state, and the stat and err members of the receipt's text. */
const STATES: Record<ReceiptType, readonly [state: number, stat: string, error: string]> = {
  enroute: [1, 'ENROUTE', '000'],
  delivered: [2, 'DELIVRD', '000'],
  expired: [3, 'EXPIRED', '027'],
  undelivered: [5, 'UNDELIV', '001'],
}

/** One receipt per part of the message. */
export function receiptPdus(sms: Sms, type: ReceiptType, at: Date): { status: string; pdus: DeliverSm[] } {
  const [state, stat, error] = STATES[type]
  const date = receiptDate(at)
  const pdus = sms.parts.map(({ id, mark }) => {
    const shown = fateOf(sms.to).decimalIds ? BigInt(`0x${id}`).toString() : id
    return {
      ...addresses(sms),
      esm_class: type === 'enroute' ? 0x20 : 0x04,
      data_coding: 0,
      short_message: `id:${shown} sub:001 dlvrd:${state === 2 ? '001' : '000'} submit date:${date} done date:${date} stat:${stat} err:${error} text:`,
      receipted_message_id: shown,
      message_state: state,
      ...(mark === null ? {} : { user_message_reference: mark }),
    }
  })
  return { status: stat, pdus }
}

/** One PDU per part of the reply. */
export function replyPdus(sms: Sms, text: string): DeliverSm[] {
  const { encoding, parts } = planParts(text)
  const [series, mark] = [randomInt(256), randomInt(65_536)]
  return parts.map((message, index) => ({
    ...addresses(sms),
    esm_class: 0,
    data_coding: encoding === 'gsm7' ? 0 : 8,
    short_message: parts.length === 1 ? { message } : { udh: Buffer.from([5, 0, 3, series, parts.length, index + 1]), message },
    user_message_reference: mark,
  }))
}

const addresses = ({ to, from }: Sms) => ({
  source_addr_ton: 1,
  source_addr_npi: 1,
  source_addr: to.slice(1),
  destination_addr: from,
})

/** YYMMDDhhmm, the format of receipts. */
const receiptDate = (at: Date): string => at.toISOString().replace(/\D/g, '').slice(2, 12)
