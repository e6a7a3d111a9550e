import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { moduleOf } from '../../../channels/registry.js'
import type { Clock } from '../../../domain/clock.js'
import { refuse } from '../../../domain/errors.js'
import { canonicalJson } from '../../../domain/evidence/canonical-json.js'
import { MAX_WAIT_MINUTES, type SequenceStep } from '../../../domain/send/sequence.js'
import { simulateSequence } from '../../../domain/send/sequence-simulation.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import { findAccount, findSequence, lockAccount, updateSequence } from '../../../store/accounts/accounts.js'
import { recordAudit } from '../../../store/audit.js'
import { type Pool, transaction } from '../../../store/postgres.js'
import { readChannel, refuseValue } from '../../channel-name.js'
import { conditionNames, findCondition, nameOfCondition } from '../../gw/condition-wire.js'
import { accountOf, everyone, route, senders } from '../route.js'
import {
  type AccountQuery,
  accountQuery,
  type Sequence,
  type SequenceStepWire,
  type SetSequence,
  type SimulateBody,
  type Simulated,
  sequenceSchema,
  setSequence,
  simulateBody,
  simulated,
} from './sequence-schema.js'

/** /console/api/sequence: the account's sequence, and what it would do with a notification. */
export function addConsoleSequence(app: FastifyInstance, { pool, clock }: { pool: Pool; clock: Clock }): void {
  app.get<{ Querystring: AccountQuery }>(
    '/console/api/sequence',
    route(everyone, { querystring: accountQuery, response: { 200: sequenceSchema } }),
    async request => answer(await findSequence(pool, (await accountOf(pool, request)).account)),
  )
  app.put<{ Querystring: AccountQuery; Body: SetSequence }>(
    '/console/api/sequence',
    route(senders, { querystring: accountQuery, body: setSequence, response: { 200: sequenceSchema } }),
    async request => {
      const { account } = await accountOf(pool, request)
      const sequence = readSteps(request.body.steps)
      const saved = answer(sequence)
      await transaction(pool, async db => {
        await lockAccount(db, account)
        const { revision } = answer(await findSequence(db, account))
        // A person whose first save got no answer may save the same steps again.
        if (revision !== request.body.revision && revision !== saved.revision) refuse('sequenceChanged')
        await updateSequence(db, account, sequence.length === 0 ? null : sequence)
        const detail = { steps: saved.steps }
        await recordAudit(db, { actor: actorOf(request.operator), action: 'set sequence', subject: account, detail })
      })
      return saved
    },
  )
  // Changes nothing: the steps may be those that the person is still editing.
  app.post<{ Querystring: AccountQuery; Body: SimulateBody }>(
    '/console/api/sequence/simulation',
    route(everyone, { querystring: accountQuery, body: simulateBody, response: { 200: simulated } }),
    async (request): Promise<Simulated> => {
      const { account } = await accountOf(pool, request)
      const { settings } = (await findAccount(pool, account)) ?? refuse('accountMissing')
      const { steps, reactions } = request.body
      requireOnce(reactions)
      const start = new Date(clock())
      const played = reactions.map((reaction, index) => ({
        ...reaction,
        channel: readChannel(reaction.channel, { field: `reactions[${index}].channel` }),
      }))
      const events = simulateSequence({ sequence: readSteps(steps), settings }, played, start, moduleOf)
      return {
        start: start.toISOString(),
        events: events.map(event => ({ ...event, channel: moduleOf(event.channel).wire, at: event.at.toISOString() })),
      }
    },
  )
}

function answer(sequence: readonly SequenceStep[] | null): Sequence {
  const steps = (sequence ?? []).map(({ channel, waitMinutes, condition }) => ({
    channel: moduleOf(channel).wire,
    waitMinutes,
    condition: nameOfCondition(condition),
  }))
  const revision = hash('sha256', canonicalJson(steps))
  return { steps, revision, conditions: [...conditionNames], maxWaitMinutes: MAX_WAIT_MINUTES }
}

function requireOnce(named: readonly { channel: string }[]): void {
  const repeated = named.find(({ channel }, index) => named.findIndex(other => other.channel === channel) !== index)
  if (repeated !== undefined) refuse('repeatedStep', repeated.channel)
}

function readSteps(steps: readonly SequenceStepWire[]): SequenceStep[] {
  requireOnce(steps)
  return steps.map(({ channel, waitMinutes, condition }, index) => {
    const field = (name: string): string => `steps[${index}].${name}`
    if (waitMinutes > MAX_WAIT_MINUTES) refuse('tooHigh', field('waitMinutes'), String(MAX_WAIT_MINUTES))
    return {
      channel: readChannel(channel, { field: field('channel') }),
      waitMinutes,
      condition: findCondition(condition) ?? refuseValue({ field: field('condition') }, conditionNames),
    }
  })
}
