import { isSimulated } from '../../channels/carrier-name.js'
import { moduleOf } from '../../channels/registry.js'
import { explainFailure, lastStep, type Step, timeline } from '../../domain/delivery/status.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { brandName } from '../../domain/send/sender.js'
import type { NotificationStatuses } from '../../store/delivery/deliveries.js'
import type { DeliveryRoute, EvidenceSubject } from '../../store/evidence/subjects.js'

const toJson = ({ label, at }: Step): Json => ({ label, at: at.toISOString() })

/** The value of status.json: a summary for people and programs. The events are what proves it. */
export function statusSummary(
  subject: EvidenceSubject,
  { statuses }: NotificationStatuses,
  routes: readonly DeliveryRoute[],
): Json {
  const { id, code, mode, settings, accountName, acceptedAt, customId, recipientName, subject: about } = subject
  return {
    v: 1,
    notification: id,
    code: Number(code),
    mode,
    sender: {
      name: brandName(settings, accountName),
      legalName: settings['sender.legalName'] || null,
      document: settings['sender.document'] || null,
    },
    acceptedAt: acceptedAt.toISOString(),
    customId,
    recipientName,
    subject: about,
    channels: statuses.map(status => {
      const module = moduleOf(status.channel)
      const route = routes.find(({ channel }) => channel === status.channel)
      return {
        channel: module.wire,
        recipient: route?.recipient ?? null,
        simulated: isSimulated(route?.carrier ?? ''),
        last: toJson(lastStep(status, module)),
        reason: explainFailure(status, module),
        steps: timeline(status, module).map(toJson),
      }
    }),
  }
}
