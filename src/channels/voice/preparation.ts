import { settingsOf } from '../../domain/account.js'
import { type CarrierSource, findAttempt } from '../../domain/carrier-source.js'
import { Refusal } from '../../domain/errors.js'
import type { JsonObject } from '../../domain/notification.js'
import { brandName } from '../../domain/sender.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel-runtime.js'
import { SendError } from '../provider.js'
import { type Rendering, refusedFor } from '../rendering.js'
import type { Call, StoredCall } from './call-store.js'
import { voiceSettings } from './channel.js'
import type { CallPlan, VoiceMessage, VoiceScript } from './voice-message.js'

/** About four minutes of speech. */
const MAX_SPOKEN = 3_000

/** `minuteMs`: how long a minute of an account's plan lasts. It is shorter in the simulator. */
export function createVoicePreparation({ render, minuteMs }: { render: Rendering; minuteMs: number }) {
  return async (claim: Claim): Promise<VoiceMessage | Refused> => {
    if (claim.suppressed) return refusedFor('O número pediu para não receber ligações desta conta.')
    const script = await writeScript(claim, render)
    if ('refused' in script) return script
    const againMs = nextCall(claim.reference, claim.settings, minuteMs)
    return { reference: claim.reference, to: claim.recipient!, script, againMs }
  }
}

const ordinalOf = (reference: string): number => Number(reference.split('.').at(-1))

/** How long to wait before another call if nobody answers this one; null: the account's plan has no other. */
function nextCall(reference: string, settings: Call['settings'], minuteMs: number): number | null {
  const { 'voice.retries': retries, 'voice.retry.minutes': minutes } = settingsOf(voiceSettings, settings)
  return ordinalOf(reference) <= retries ? minutes * minuteMs : null
}

type FindCall = (notification: string) => Promise<StoredCall | null>

/** null: there is no such call, or the source was not asked for it; lost: the script cannot be written again. */
export type FindScript = (reference: string, source: CarrierSource) => Promise<VoiceScript | 'lost' | null>

/** The script of a call under way, for carriers that ask for it once somebody has answered. */
export function createScriptReader(find: FindCall, render: Rendering): FindScript {
  return async (reference, source) => {
    const call = await findNamed(reference, find)
    // The text of a message is for the carrier that was asked for the call alone.
    if (call === null || findAttempt(source, call, ordinalOf(reference)) === null) return null
    // The carrier waits on the line: what would postpone a send is answered as "overloaded".
    const script = await writeScript(call, render).catch(error => {
      throw error instanceof SendError && error.cause instanceof Refusal ? error.cause : error
    })
    return 'refused' in script ? 'lost' : script
  }
}

/** What follows a call, for carriers that are asked for the outcome of one. */
export function createPlanReader(find: FindCall, { minuteMs }: { minuteMs: number }) {
  return async (reference: string): Promise<CallPlan> => {
    const call = await findNamed(reference, find)
    if (call === null) return { againMs: null, heard: false }
    return { againMs: nextCall(reference, call.settings, minuteMs), heard: call.heard }
  }
}

/** The notification and the ordinal that a reference of ours names; null: it is none. */
export function readReference(reference: string): { notification: string; ordinal: number } | null {
  const [, notification, ordinal] = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.voice\.(\d{1,4})$/.exec(reference) ?? []
  return notification === undefined ? null : { notification, ordinal: Number(ordinal) }
}

async function findNamed(reference: string, find: FindCall): Promise<StoredCall | null> {
  const named = readReference(reference)
  return named && find(named.notification)
}

async function writeScript(call: Call, render: Rendering): Promise<VoiceScript | Refused> {
  const values = (call.request.payload ?? {}) as JsonObject
  const rendered = await render(call, values)
  if ('refused' in rendered) return rendered
  const text = rendered.text.replace(/[^\S\n]+/g, ' ').trim()
  if (text === '') return refusedFor('O template ficou vazio depois de preenchido: não há o que falar na ligação.')
  const tooLong = `O texto da ligação tem ${text.length} caracteres; o máximo são ${MAX_SPOKEN}. Reduza o template ou os valores.`
  if (text.length > MAX_SPOKEN) return refusedFor(tooLong)
  const name = settingsOf(voiceSettings, call.settings)['voice.name'] || brandName(call.settings, call.accountName)
  // Where a reader must answer a question first, a listener must at least press a key.
  const key = values.tecla === true || rendered.template.metadata.tecla === true || call.protected
  return {
    text,
    greeting: `Olá. Esta é uma ligação de ${name}, com uma mensagem para você.${key ? ' Para ouvir a mensagem, tecle 1.' : ''}`,
    neutral: `Olá. Esta é uma ligação de ${name}. Temos uma mensagem para você. Fale conosco pelos nossos canais de atendimento. Obrigado.`,
    key,
  }
}
