import type { AttemptOutcome, Change, Fence } from '../../domain/delivery/change.js'
import { isUnknown, isUnsettled } from '../../domain/delivery/status.js'
import type { StoredDelivery } from '../../store/delivery/locked-deliveries.js'

/** Whether a change came too late to count: somebody else has moved the delivery on. */
export function isFenced(change: Change, delivery: StoredDelivery): boolean {
  const { leaseOwner, attempt, status } = delivery
  switch (change.kind) {
    case 'attempt': {
      const holdsLease = leaseOwner === change.fence.owner && attempt === change.fence.attempt
      return !holdsLease && !isLateAnswer(change, delivery)
    }
    case 'resolution':
      return status.state !== change.state || !isLatest(change, delivery)
    case 'operator':
      if (change.decision === 'release' || change.decision === 'cancel') return status.state !== 'waiting'
      return change.decision !== 'retry' && !isUnknown(status.state)
    default:
      return false
  }
}

/** The carrier took the message, and only the lease was over: the attempt became one with unknown outcome, and nobody sent it again. */
const isLateAnswer = ({ fence, fact: { type } }: AttemptOutcome, delivery: StoredDelivery): boolean =>
  (type === 'sent' || type === 'processed') && isUnknown(delivery.status.state) && isLatest(fence, delivery)

/** Whether a report under this attempt's names may still matter. Once another attempt has decided, it does not. */
export const mayStillBeReported = (fence: Fence, delivery: StoredDelivery): boolean =>
  isLatest(fence, delivery) || isUnsettled(delivery.status.state)

const isLatest = (of: { attempt: number; ordinal: number }, { attempt, status }: StoredDelivery): boolean =>
  attempt === of.attempt && status.ordinal === of.ordinal
