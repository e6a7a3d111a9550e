import { tags } from '../../../src/channels/sms/smpp-pdu.js'

/** The body of a deliver_sm that reports a delivery, put together by hand as SMPP 3.4 has it. */
export function receiptBody({ from, id, mark }: { from: string; id: string; mark: Buffer }): Buffer {
  const text = (value: string): Buffer => Buffer.from(`${value}\0`)
  const tlv = (tag: number, value: Buffer): Buffer =>
    Buffer.concat([Buffer.from([tag >> 8, tag & 255, value.length >> 8, value.length & 255]), value])
  const words = Buffer.from(`id:${id} stat:DELIVRD err:000 text:Aviso`)
  return Buffer.concat([
    text(''),
    Buffer.from([1, 1]),
    text(from.replace('+', '')),
    Buffer.from([0, 0]),
    text('29000'),
    Buffer.from([4, 0, 0]),
    text(''),
    text(''),
    Buffer.from([0, 0, 0, 0, words.length]),
    words,
    tlv(tags.userMessageReference, mark),
  ])
}
