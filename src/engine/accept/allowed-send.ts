import { Refusal } from '../../domain/errors.js'
import type { DeliveryRules, SendRequest } from '../../domain/notification.js'
import type { Scope } from '../../domain/scope.js'

export interface AllowedSendOptions {
  /** false: this installation has no carriers for sends in test mode. */
  simulator: boolean
  /** The address at which an account asks for a kind of send that it may not use yet. */
  supportEmail: string
}

/** Refuses a send that is well formed and that its account, or this installation, may not make. */
export function requireAllowedSend(
  send: SendRequest,
  { mode, settings }: Pick<Scope, 'mode'> & Pick<DeliveryRules, 'settings'>,
  { simulator, supportEmail }: AllowedSendOptions,
): void {
  if (send.validation !== null && !settings.validation) throw new Refusal('validationNotEnabled', [supportEmail])
  if (mode === 'test' && !simulator) throw new Refusal('simulatorOff')
}
