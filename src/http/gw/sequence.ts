import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { refuse } from '../../domain/errors.js'
import { MAX_WAIT_MINUTES, type SequenceStep, type StepCondition } from '../../domain/sequence.js'
import { channelOf, type WireChannel, wireChannels } from './wire.js'

/** GET and PUT /gw/sequence: the account's sequence (régua). An empty list means none: all channels at once. */
export interface SequenceOptions {
  findSequence(account: string): Promise<SequenceStep[] | null>
  saveSequence(account: string, sequence: SequenceStep[] | null): Promise<void>
}

const conditions: Record<string, StepCondition> = {
  sempre: 'always',
  falhou: 'failed',
  nao_entregue: 'not delivered',
  nao_lido: 'not read',
  nao_confirmado: 'not confirmed',
}
const wireConditions = Object.fromEntries(Object.entries(conditions).map(([wire, condition]) => [condition, wire]))

const stepSchema = Type.Object({
  canal: Type.Unsafe<WireChannel>({ type: 'string', enum: Object.keys(channelOf) }),
  esperaMinutos: Type.Integer({ minimum: 0, maximum: MAX_WAIT_MINUTES, description: 'Minutos depois da etapa anterior.' }),
  condicao: Type.Unsafe<string>({
    type: 'string',
    enum: Object.keys(conditions),
    description: 'A etapa só acontece se, nas anteriores, isto ainda valer.',
  }),
})
const sequenceSchema = Type.Object({ etapas: Type.Array(stepSchema, { maxItems: 5 }) })
const answerSchema = Type.Object({ data: sequenceSchema, statusCode: Type.Integer() })

export function addSequence(app: FastifyInstance, { findSequence, saveSequence }: SequenceOptions): void {
  app.get(
    '/gw/sequence',
    { schema: { summary: 'Régua da conta', tags: ['Régua'], response: { 200: answerSchema } } },
    async request => answer(await findSequence(request.caller.account)),
  )
  app.put<{ Body: Static<typeof sequenceSchema> }>(
    '/gw/sequence',
    { schema: { summary: 'Muda a régua da conta', tags: ['Régua'], body: sequenceSchema, response: { 200: answerSchema } } },
    async request => {
      const sequence = readSequence(request.body.etapas)
      await saveSequence(request.caller.account, sequence.length === 0 ? null : sequence)
      return answer(sequence)
    },
  )
}

const answer = (sequence: readonly SequenceStep[] | null) => ({
  data: {
    etapas: (sequence ?? []).map(({ channel, waitMinutes, condition }) => ({
      canal: wireChannels[channel],
      esperaMinutos: waitMinutes,
      condicao: wireConditions[condition],
    })),
  },
  statusCode: 200,
})

function readSequence(steps: Static<typeof stepSchema>[]): SequenceStep[] {
  const sequence = steps.map(({ canal, esperaMinutos, condicao }) => ({
    channel: channelOf[canal],
    waitMinutes: esperaMinutos,
    condition: conditions[condicao]!,
  }))
  const repeated = steps.find(({ canal }, index) => steps.findIndex(other => other.canal === canal) !== index)
  if (repeated !== undefined) refuse('repeatedStep', repeated.canal)
  return sequence
}
