import type { VoiceMessage, VoiceScript } from '../channels/provider.js'
import type { JsonObject } from '../domain/notification.js'
import type { Call } from '../store/calls.js'
import type { Claim } from '../store/claims.js'
import type { Refused } from './lane.js'
import { type Rendering, refusedFor } from './rendering.js'

/** From a claimed call to what is said in it, and when to call again. */
export interface VoiceParts {
  render: Rendering
  /** How long a minute of an account's plan lasts; the simulated world runs faster. */
  minuteMs: number
}

/** About four minutes of speech. */
const MAX_SPOKEN = 3_000

export function createVoicePreparation({ render, minuteMs }: VoiceParts) {
  return async (claim: Claim): Promise<VoiceMessage | Refused> => {
    if (claim.suppressed) return refusedFor('O número pediu para não receber ligações desta conta.')
    const script = await writeScript({ ...claim, channel: 'voice' }, render)
    if ('refused' in script) return script
    const ordinal = Number(claim.reference.split('.').at(-1))
    const again = ordinal <= claim.settings['voice.retries']
    const againMs = again ? claim.settings['voice.retry.minutes'] * minuteMs : null
    return { reference: claim.reference, to: claim.recipient!, script, againMs }
  }
}

/** What a call under way is to say, for carriers that ask once somebody has answered; null: no such call. */
export function createScriptReader(find: (notification: string) => Promise<Call | null>, render: Rendering) {
  return async (reference: string): Promise<VoiceScript | null> => {
    const [, notification] = /^([0-9a-f-]{36})\.voice\.\d{1,4}$/.exec(reference) ?? []
    const call = notification === undefined ? null : await find(notification)
    const script = call === null ? null : await writeScript(call, render)
    return script === null || 'refused' in script ? null : script
  }
}

async function writeScript(call: Call, render: Rendering): Promise<VoiceScript | Refused> {
  const values = (call.request.payload ?? {}) as JsonObject
  const rendered = await render(call, values)
  if ('refused' in rendered) return rendered
  const text = rendered.text.replace(/[^\S\n]+/g, ' ').trim()
  if (text === '') return refusedFor('O template ficou vazio depois de preenchido: não há o que falar na ligação.')
  if (text.length > MAX_SPOKEN) {
    return refusedFor(
      `O texto da ligação tem ${text.length} caracteres; o máximo são ${MAX_SPOKEN}. Reduza o template ou os valores.`,
    )
  }
  const name = call.settings['voice.name'] || call.accountName
  // A person who had to be asked a question before reading must at least be there before listening.
  const key = values.tecla === true || rendered.template.metadata.tecla === true || call.protected
  return {
    text,
    greeting: `Olá. Esta é uma ligação de ${name}, com uma mensagem para você.${key ? ' Para ouvir a mensagem, tecle 1.' : ''}`,
    neutral: `Olá. Esta é uma ligação de ${name}. Temos uma mensagem para você. Fale conosco pelos nossos canais de atendimento. Obrigado.`,
    key,
  }
}
