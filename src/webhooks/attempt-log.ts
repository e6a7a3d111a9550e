import type { Pool } from '../store/postgres.js'
import { type AttemptQuery, type LoggedAttempt, listAttempts, readEvents } from '../store/webhook/attempts.js'
import { requireEndpoint } from './endpoints.js'
import { renderBody, type WebhookFormat } from './payload.js'

/** An attempt with its request body, which is rendered again from the event so that no copy of erased data is kept. */
export interface AttemptDetails extends LoggedAttempt {
  requestBody: string | null
}

export async function showAttempts(
  pool: Pool,
  format: WebhookFormat,
  account: string,
  id: string,
  query: AttemptQuery,
): Promise<AttemptDetails[]> {
  await requireEndpoint(pool, account, id)
  const attempts = await listAttempts(pool, id, query)
  const events = await readEvents(pool, [...new Set(attempts.map(({ notification }) => notification))])
  return attempts.map(attempt => ({
    ...attempt,
    requestBody: renderBody(attempt, events.get(attempt.notification) ?? [], attempt.version, attempt.attempt, format),
  }))
}
