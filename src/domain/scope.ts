import type { Mode } from './access/token.js'

/**
 * The account and the mode that a caller acts for. Every query on behalf of a caller takes a scope, never an account alone: what a test
 * token sends, suppresses and listens to is invisible to the live tokens of the same account, and the other way round.
 */
export interface Scope {
  readonly account: string
  readonly mode: Mode
}

/** Names a scope in caches, budgets and semaphores. */
export const scopeKey = ({ account, mode }: Scope): string => `${account} ${mode}`
