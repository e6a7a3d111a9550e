import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import { channelModules, findModule, moduleOf } from '../../channels/registry.js'
import type { Clock } from '../../domain/clock.js'
import { refuse } from '../../domain/errors.js'
import { MAX_WAIT_MINUTES, type SequenceStep, type StepCondition } from '../../domain/send/sequence.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { finalize } from '../../engine/record/record.js'
import { findSequence, updateSequence } from '../../store/accounts/accounts.js'
import { type ComingStep, findComing } from '../../store/delivery/deliveries.js'
import type { Pool } from '../../store/postgres.js'
import { conditionNames, findCondition, nameOfCondition } from './condition-wire.js'
import { type ByNotification, channelName, dataAnswer, dataRoute, notificationId, textOrNull } from './wire.js'

/** The condition's text in the description of a coming step. */
const conditionTexts: Record<StepCondition, string> = {
  always: '',
  failed: ', se os canais anteriores falharem',
  'not delivered': ', se a entrega pelos canais anteriores não for confirmada',
  'not read': ', se a leitura pelos canais anteriores não for confirmada',
  'not confirmed': ', se o recebimento pelos canais anteriores não for confirmado',
}

const stepSchema = Type.Object({
  canal: channelName,
  esperaMinutos: Type.Integer({ minimum: 0, maximum: MAX_WAIT_MINUTES, description: 'Minutos depois da etapa anterior.' }),
  condicao: Type.Unsafe<string>({
    type: 'string',
    enum: conditionNames,
    description: 'A etapa só acontece se, nas anteriores, isto ainda valer.',
  }),
})
const sequenceSchema = Type.Object({
  etapas: Type.Array(stepSchema, {
    maxItems: channelModules.length,
    description: 'Na ordem em que acontecem. Vazia: não há régua, e todos os canais saem juntos.',
  }),
})
const comingSchema = Type.Object({
  canal: channelName,
  dataPrevista: textOrNull(
    'null na espera da condição `falhou`: a etapa acontece quando as anteriores falharem, sem data marcada.',
    { examples: ['18/07/2026 01:01:32'] },
  ),
  condicao: Type.String({ description: 'O que precisa valer nas etapas anteriores para esta acontecer.' }),
  motivo: Type.Optional(Type.String({ description: 'Por que as regras de contato a fazem esperar. Ausente: não fazem.' })),
  descricao: Type.String({
    description: 'O mesmo, para pessoas.',
    examples: [`${channelModules[1]!.label} em 18/07/2026 01:01:32, se a entrega pelos canais anteriores não for confirmada.`],
  }),
})

const DONE = 'Regua de notificação finalizada com sucesso'
const finalizedSchema = Type.Object({ message: Type.String({ description: 'Sempre a mesma frase.', examples: [DONE] }) })

/** /gw/sequence: the account's sequence (régua), and the next steps of one notification. An empty list means none: all channels at once. */
export function addSequence(app: FastifyInstance, { pool, clock }: { pool: Pool; clock: Clock }): void {
  app.get('/gw/sequence', dataRoute('Régua', 'Régua da conta', sequenceSchema), async request =>
    answer((await findSequence(pool, request.caller.account)) ?? []),
  )
  app.put<{ Body: Static<typeof sequenceSchema> }>(
    '/gw/sequence',
    dataRoute('Régua', 'Muda a régua da conta', sequenceSchema, { body: sequenceSchema }),
    async request => {
      const sequence = readSequence(request.body.etapas)
      if (request.caller.mode === 'test') refuse('sequenceInTestMode')
      await updateSequence(pool, request.caller.account, sequence.length === 0 ? null : sequence)
      return answer(sequence)
    },
  )
  app.get<ByNotification>(
    '/gw/sequence/:idEmail',
    dataRoute('Régua', 'O que vem a seguir numa notificação', Type.Array(comingSchema)),
    async request => {
      const steps = (await findComing(pool, request.caller, notificationId(request))) ?? refuse('noStatus')
      return dataAnswer(steps.map(toWire))
    },
  )
  // Ends a notification's sequence. A second call changes nothing.
  app.get<ByNotification>(
    '/regua-notificacao/finalizar/:idEmail',
    // A HEAD would end it, too.
    {
      exposeHeadRoute: false,
      schema: { summary: 'Finaliza a régua de uma notificação', tags: ['Régua'], response: { 200: finalizedSchema } },
    },
    async request => {
      if (!(await finalize(pool, clock, request.caller, notificationId(request)))) refuse('noStatus')
      return { message: DONE }
    },
  )
}

const toWire = (step: ComingStep) => ({
  canal: moduleOf(step.channel).wire,
  dataPrevista: step.dueAt === null ? null : brazilianDate(step.dueAt),
  condicao: nameOfCondition(step.condition),
  ...(step.reason === null ? {} : { motivo: step.reason }),
  descricao: describeComing(step),
})

export function describeComing({ channel, dueAt, condition, state, reason, isHeld }: ComingStep): string {
  const name = moduleOf(channel).label
  if (isHeld && state === 'queued') return `${name} espera: um operador reteve os envios.`
  if (reason !== null) return reason
  if (state === 'queued') return `${name} assim que possível.`
  const when = dueAt === null ? 'quando isso se souber' : `em ${brazilianDate(dueAt)}`
  return `${name} ${when}${conditionTexts[condition]}.`
}

const answer = (sequence: readonly SequenceStep[]) =>
  dataAnswer({
    etapas: sequence.map(({ channel, waitMinutes, condition }) => ({
      canal: moduleOf(channel).wire,
      esperaMinutos: waitMinutes,
      condicao: nameOfCondition(condition),
    })),
  })

function readSequence(steps: Static<typeof stepSchema>[]): SequenceStep[] {
  const repeated = steps.find(({ canal }, index) => steps.findIndex(other => other.canal === canal) !== index)
  if (repeated !== undefined) refuse('repeatedStep', repeated.canal)
  return steps.map(({ canal, esperaMinutos, condicao }) => ({
    channel: findModule(canal)!.channel,
    waitMinutes: esperaMinutos,
    condition: findCondition(condicao)!,
  }))
}
