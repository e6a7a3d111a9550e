import { isSimulated } from '../channels/carrier-name.js'
import { moduleOf } from '../channels/registry.js'
import { explainFailure, lastStep, type Step } from '../domain/delivery/status.js'
import { readVerificationCode } from '../domain/evidence/verification-code.js'
import { maskAddress, shortName } from '../domain/recipient/mask.js'
import { findNotification } from '../store/delivery/deliveries.js'
import { type DroppedNotification, findDroppedAt } from '../store/evidence/dropped-months.js'
import { readHashesOf } from '../store/evidence/log-leaves.js'
import { type DeliveryRoute, type EvidenceSubject, findIdsOf, findSubject, listRoutes } from '../store/evidence/subjects.js'
import { type LoggedEvent, readChain } from '../store/notification/event-log.js'
import { type Pool, type Queryable, snapshot } from '../store/postgres.js'

/** What anyone with the code of a notification may see: enough to compare a document with, and neither content nor addresses. */
export interface PublicRecord {
  notification: string
  sender: Pick<EvidenceSubject, 'accountName' | 'settings'>
  acceptedAt: Date
  channels: readonly PublicChannel[]
  events: readonly Pick<LoggedEvent, 'seq' | 'at' | 'hash'>[]
}

interface PublicChannel {
  label: string
  /** Masked; null: erased. */
  recipient: string | null
  isSimulated: boolean
  last: Step
  reason: string | null
}

/** What is left of a notification after its month left the database: the log has the hashes of its events for ever. */
export interface ArchivedRecord {
  notification: string
  acceptedAt: Date
  archive: Pick<DroppedNotification, 'month' | 'sha256'>
  events: readonly { seq: number; hash: string }[]
}

/** null: the code is of no notification. */
export async function readPublicRecord(pool: Pool, key: Buffer, code: string): Promise<PublicRecord | ArchivedRecord | null> {
  const guess = readVerificationCode(key, code)
  if (guess === null) return null
  const { atMs, isOf } = guess
  const notification = (await findIdsOf(pool, atMs)).find(isOf)
  if (notification !== undefined) return snapshot(pool, db => readRecord(db, notification))
  const dropped = (await findDroppedAt(pool, atMs)).find(({ notification: id }) => isOf(id))
  if (dropped === undefined) return null
  const { notification: id, ...archive } = dropped
  return { notification: id, acceptedAt: new Date(atMs), archive, events: await readHashesOf(pool, id) }
}

async function readRecord(db: Queryable, notification: string): Promise<PublicRecord | null> {
  const subject = await findSubject(db, notification)
  if (subject === null) return null
  const found = await findNotification(db, subject.scope, notification)
  const routes = await listRoutes(db, notification)
  const channels = (found?.statuses ?? []).map(status => {
    const module = moduleOf(status.channel)
    const route = routes.find(({ channel }) => channel === status.channel)
    return {
      label: module.label,
      recipient: maskRoute(route, module.recipientIsName === true),
      isSimulated: isSimulated(route?.carrier ?? ''),
      last: lastStep(status, module),
      reason: explainFailure(status, module),
    }
  })
  const events = (await readChain(db, notification)).map(({ seq, at, hash }) => ({ seq, at, hash }))
  return { notification, sender: subject, acceptedAt: subject.acceptedAt, channels, events }
}

const maskRoute = (route: DeliveryRoute | undefined, isName: boolean): string | null => {
  const recipient = route?.recipient ?? null
  return recipient === null ? null : isName ? shortName(recipient) : maskAddress(recipient)
}
