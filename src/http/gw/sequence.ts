import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { channelModules, findModule, moduleOf } from '../../channels/registry.js'
import { brazilianDate } from '../../domain/dates.js'
import { Refusal, refuse } from '../../domain/errors.js'
import { MAX_WAIT_MINUTES, type SequenceStep, type StepCondition } from '../../domain/sequence.js'
import type { ComingStep } from '../../store/delivery/deliveries.js'
import { pathId } from './wire.js'

/** /gw/sequence: the account's sequence (régua), and what comes next for one notification. An empty list means none: all channels at once. */
export interface SequenceOptions {
  findSequence(account: string): Promise<SequenceStep[] | null>
  findComing(account: string, notification: string): Promise<ComingStep[] | null>
  saveSequence(account: string, sequence: SequenceStep[] | null): Promise<void>
}

const conditions: Record<string, StepCondition> = {
  sempre: 'always',
  falhou: 'failed',
  nao_entregue: 'not delivered',
  nao_lido: 'not read',
  nao_confirmado: 'not confirmed',
}
const wireConditions: Record<string, string> = Object.fromEntries(
  Object.entries(conditions).map(([wire, condition]) => [condition, wire]),
)

const stepSchema = Type.Object({
  canal: Type.Unsafe<string>({ type: 'string', enum: channelModules.map(({ wire }) => wire) }),
  esperaMinutos: Type.Integer({ minimum: 0, maximum: MAX_WAIT_MINUTES, description: 'Minutos depois da etapa anterior.' }),
  condicao: Type.Unsafe<string>({
    type: 'string',
    enum: Object.keys(conditions),
    description: 'A etapa só acontece se, nas anteriores, isto ainda valer.',
  }),
})
const sequenceSchema = Type.Object({ etapas: Type.Array(stepSchema, { maxItems: channelModules.length }) })
const comingSchema = Type.Object({
  data: Type.Array(
    Type.Object({
      canal: Type.String(),
      dataPrevista: Type.Unsafe<string | null>({
        type: ['string', 'null'],
        examples: ['18/07/2026 01:01:32'],
        description: 'null na espera da condição `falhou`: a etapa acontece quando as anteriores falharem, sem data marcada.',
      }),
      condicao: Type.String(),
      descricao: Type.String({
        examples: [
          `${channelModules[1]!.label} em 18/07/2026 01:01:32, se a entrega pelos canais anteriores não for confirmada.`,
        ],
      }),
    }),
  ),
  statusCode: Type.Integer(),
})
const answerSchema = Type.Object({ data: sequenceSchema, statusCode: Type.Integer() })

export function addSequence(app: FastifyInstance, { findSequence, findComing, saveSequence }: SequenceOptions): void {
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
  app.get<{ Params: { idEmail: string } }>(
    '/gw/sequence/:idEmail',
    { schema: { summary: 'O que vem a seguir numa notificação', tags: ['Régua'], response: { 200: comingSchema } } },
    async request => {
      const steps = await findComing(request.caller.account, pathId(request.params.idEmail, 'noStatus'))
      if (steps === null) throw new Refusal('noStatus')
      const data = steps.map(step => ({
        canal: moduleOf(step.channel).wire,
        dataPrevista: step.dueAt === null ? null : brazilianDate(step.dueAt),
        condicao: wireConditions[step.condition]!,
        descricao: describeComing(step),
      }))
      return { data, statusCode: 200 }
    },
  )
}

function describeComing({ channel, dueAt, condition, state }: ComingStep): string {
  const name = moduleOf(channel).label
  if (state === 'queued') return `${name} assim que possível.`
  const when = dueAt === null ? 'quando isso se souber' : `em ${brazilianDate(dueAt)}`
  return `${name} ${when}${coming[condition]}.`
}

const coming: Record<StepCondition, string> = {
  always: '',
  failed: ', se os canais anteriores falharem',
  'not delivered': ', se a entrega pelos canais anteriores não for confirmada',
  'not read': ', se a leitura pelos canais anteriores não for confirmada',
  'not confirmed': ', se o recebimento pelos canais anteriores não for confirmado',
}

const answer = (sequence: readonly SequenceStep[] | null) => ({
  data: {
    etapas: (sequence ?? []).map(({ channel, waitMinutes, condition }) => ({
      canal: moduleOf(channel).wire,
      esperaMinutos: waitMinutes,
      condicao: wireConditions[condition],
    })),
  },
  statusCode: 200,
})

function readSequence(steps: Static<typeof stepSchema>[]): SequenceStep[] {
  const sequence = steps.map(({ canal, esperaMinutos, condicao }) => ({
    channel: findModule(canal)!.channel,
    waitMinutes: esperaMinutos,
    condition: conditions[condicao]!,
  }))
  const repeated = steps.find(({ canal }, index) => steps.findIndex(other => other.canal === canal) !== index)
  if (repeated !== undefined) refuse('repeatedStep', repeated.canal)
  return sequence
}
