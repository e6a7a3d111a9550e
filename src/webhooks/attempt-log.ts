import type { Pool } from '../store/postgres.js'
import { type AttemptQuestion, type LoggedAttempt, listAttempts, readEvents } from '../store/webhook-attempts.js'
import { requireEndpoint } from './endpoints.js'
import { renderBody, type WebhookWords } from './payload.js'

/** Attempts with what was sent: the request is told again from its event, so that erased data is not kept here. */
export interface ShownAttempt extends LoggedAttempt {
  requestBody: string | null
}

export async function showAttempts(
  pool: Pool,
  words: WebhookWords,
  account: string,
  id: string,
  question: AttemptQuestion,
): Promise<ShownAttempt[]> {
  await requireEndpoint(pool, account, id)
  const attempts = await listAttempts(pool, id, question)
  const events = await readEvents(pool, [...new Set(attempts.map(({ notification }) => notification))])
  return attempts.map(attempt => ({
    ...attempt,
    requestBody: renderBody(attempt, events.get(attempt.notification) ?? [], attempt.version, attempt.attempt, words),
  }))
}
