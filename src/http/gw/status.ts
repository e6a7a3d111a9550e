import type { FastifyInstance } from 'fastify'
import type { ChannelContract, DocumentUrl } from '../../channels/channel.js'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { Refusal } from '../../domain/errors.js'
import type { FoundStatus, StatusQuestion } from '../../store/delivery/deliveries.js'
import { pathId } from './wire.js'

/** GET /gw/{channel}/{idEmail}: the status of a notification on one channel, as the channel's contract shows it. */
export interface StatusOptions {
  contracts: ReadonlyMap<Channel, ChannelContract>
  documentUrl: DocumentUrl
  findStatus(question: StatusQuestion): Promise<FoundStatus | null>
}

export function addStatus(app: FastifyInstance, { contracts, findStatus, documentUrl }: StatusOptions): void {
  for (const [channel, { status: record }] of contracts) {
    app.get<{ Params: { idEmail: string } }>(
      `/gw/${moduleOf(channel).wire}/:idEmail`,
      { schema: { summary: record.summary, tags: ['Situação'], response: { 200: record.schema } } },
      async request => {
        const notification = pathId(request.params.idEmail, 'noStatus')
        const status = await findStatus({ account: request.caller.account, notification, channel })
        if (status === null) throw new Refusal('noStatus')
        return record.from(status, documentUrl)
      },
    )
  }
}
