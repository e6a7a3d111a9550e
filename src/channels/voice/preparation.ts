import { settingsOf } from '../../domain/account.js'
import { type CarrierSource, findAttempt } from '../../domain/delivery/carrier-source.js'
import { type Reference, readReference } from '../../domain/delivery/reference.js'
import { Refusal } from '../../domain/errors.js'
import type { JsonObject } from '../../domain/notification.js'
import { brandName } from '../../domain/send/sender.js'
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
    const againMs = nextCall(claim.ordinal, claim.settings, minuteMs)
    return { reference: claim.reference, to: claim.recipient!, script, againMs }
  }
}

/** How long to wait before another call if nobody answers this one; null: the account's plan has no other. */
function nextCall(ordinal: number, settings: Call['settings'], minuteMs: number): number | null {
  const { 'voice.retries': retries, 'voice.retry.minutes': minutes } = settingsOf(voiceSettings, settings)
  return ordinal <= retries ? minutes * minuteMs : null
}

type FindCall = (notification: string) => Promise<StoredCall | null>

/** null: there is no such call, or the source was not asked for it; lost: the script cannot be written again. */
export type FindScript = (reference: string, source: CarrierSource) => Promise<VoiceScript | 'lost' | null>

/** The script of a call under way, for carriers that ask for it once somebody has answered. */
export function createScriptReader(find: FindCall, render: Rendering): FindScript {
  return async (reference, source) => {
    const named = readCallReference(reference)
    const call = named && (await find(named.notification))
    // The text of a message is for the carrier that was asked for the call alone.
    if (named === null || call === null || findAttempt(source, call, named.ordinal) === null) return null
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
    const named = readCallReference(reference)
    const call = named && (await find(named.notification))
    if (named === null || call === null) return { againMs: null, heard: false }
    return { againMs: nextCall(named.ordinal, call.settings, minuteMs), heard: call.heard }
  }
}

/** null: the text is not the reference of a call. */
export function readCallReference(text: string): Reference | null {
  const named = readReference(text)
  return named?.channel === 'voice' ? named : null
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
