import type { FastifyInstance } from 'fastify'
import { runCarrierCheck } from '../../../channels/carrier-check.js'
import { isSimulated, realProviderOf } from '../../../channels/carrier-name.js'
import type { SetupCheck } from '../../../channels/channel-runtime.js'
import { channelModules, moduleOf, unknownClassOf } from '../../../channels/registry.js'
import type { Channel } from '../../../domain/channel.js'
import { refuse } from '../../../domain/errors.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { recordAudit } from '../../../store/audit.js'
import { type CarrierHealth, readHealth } from '../../../store/carrier/health.js'
import { type Pool, transaction } from '../../../store/postgres.js'
import { operatorsOnly, overseers, route } from '../route.js'
import * as wire from './carriers-schema.js'

/** A carrier of the settings. Never its credentials. */
export interface ConfiguredCarrier {
  channel: Channel
  identity: string
  host: string
  perSecond: number | null
  concurrency: number
  /** Tries the credentials; null: the carrier cannot be asked without sending. */
  check: ((signal: AbortSignal) => Promise<string>) | null
}

export interface CarrierOptions {
  pool: Pool
  carriers: {
    /** The carriers of live messages, in order of preference. */
    configured: readonly ConfiguredCarrier[]
    /** null: there is no real carrier. */
    checkSetup: (() => Promise<(SetupCheck & { channel: Channel })[]>) | null
  }
}

/** Who carries the messages of each channel, how they are, and what receivers find in the DNS about us. */
export function addCarriers(app: FastifyInstance, { pool, carriers }: CarrierOptions): void {
  const { configured, checkSetup } = carriers
  app.get<{ Querystring: wire.CarriersQuery }>(
    '/console/api/carriers',
    route(overseers, { querystring: wire.carriersQuery, response: { 200: wire.carriersSchema } }),
    async ({ query }): Promise<wire.Carriers> => {
      const { mode = 'live' } = query
      const health = await readHealth(pool, mode)
      // Messages of test tokens go to simulated carriers alone.
      const known = mode === 'live' ? configured : []
      return {
        channels: channelModules.map(({ channel, wire: name }) => {
          const own = known.filter(carrier => carrier.channel === channel)
          const seen = health.filter(lane => lane.channel === channel)
          const others = seen.filter(lane => !own.some(({ identity }) => identity === lane.carrier))
          return {
            channel: name,
            carriers: [
              ...own.map(carrier =>
                toRow(carrier.identity, seen.find(lane => lane.carrier === carrier.identity) ?? null, carrier),
              ),
              ...others.map(lane => toRow(lane.carrier, lane, null)),
            ],
          }
        }),
      }
    },
  )
  app.post<{ Body: wire.CarrierTest }>(
    '/console/api/carriers/test',
    route(operatorsOnly, { body: wire.carrierTest, response: { 200: wire.carrierTested } }),
    async ({ operator, body }): Promise<wire.CarrierTested> => {
      const check = configured.find(({ identity }) => identity === body.carrier)?.check ?? refuse('carrierMissing')
      const result = await runCarrierCheck(check)
      const entry = { actor: actorOf(operator), action: 'carrier test', subject: body.carrier, detail: { ok: result.ok } }
      await transaction(pool, db => recordAudit(db, entry))
      return result
    },
  )
  app.get(
    '/console/api/carriers/setup',
    route(overseers, { response: { 200: wire.setupSchema } }),
    async (): Promise<wire.Setup> => {
      const checks = checkSetup === null ? null : await checkSetup()
      return {
        checks:
          checks?.map(({ channel, found, ...check }) => ({ ...check, channel: moduleOf(channel).wire, found: [...found] })) ??
          null,
      }
    },
  )
}

const toRow = (carrier: string, lane: CarrierHealth | null, known: ConfiguredCarrier | null): wire.CarrierRow => ({
  carrier,
  provider: realProviderOf(carrier),
  host: known?.host ?? null,
  simulated: isSimulated(carrier),
  perSecond: known?.perSecond ?? null,
  concurrency: known?.concurrency ?? null,
  whenUnknown: unknownClassOf(carrier),
  testable: known !== null && known.check !== null,
  health:
    lane === null
      ? null
      : { state: lane.state, workers: lane.workers, sent: lane.sent, failed: lane.failed, seenAt: lane.seenAt.toISOString() },
})
