import type { EventContext } from '../channel-runtime.js'
import { letter } from './channel.js'
import { findReceiptDigest, insertLetterReceipt, type ReceiptImage } from './letter-store.js'

/** The post reports the same receipt more than once. */
const NOTES = { most: 100, once: true }

/**
 * Keeps the signed receipt of delivery of a letter, and a note with its digest. The image is stored before the note is recorded: after a crash in
 * between, the carrier's file is read again, and the note is recorded then.
 */
export async function keepReceipt(
  { pool, clock, record }: Pick<EventContext, 'pool' | 'clock' | 'record'>,
  { notification, ordinal, carrier }: { notification: string; ordinal: number; carrier: string },
  image: ReceiptImage,
): Promise<void> {
  await insertLetterReceipt(pool, notification, image)
  // The first image of a letter stays, so the note names the digest of the stored one.
  const receipt = (await findReceiptDigest(pool, notification))!
  const data = { carrier, ordinal, answer: `AR ${receipt.sha256}`, receipt: { ...receipt } }
  const fact = { channel: letter.channel, type: 'note', at: new Date(clock()), source: `report:${carrier}`, data } as const
  await record({ kind: 'fact', notification, fact, noteLimit: NOTES })
}
