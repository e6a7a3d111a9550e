import type { FastifyInstance } from 'fastify'
import { Refusal } from '../domain/errors.js'

/** /healthz: the process lives. /readyz: it can take requests now. */
export interface Readiness {
  stopping: boolean
  checkDatabase(): Promise<void>
}

export function addHealth(app: FastifyInstance, readiness: Readiness): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async () => {
    if (readiness.stopping) throw new Refusal('stopping', [], { retryAfter: 5 })
    await readiness.checkDatabase()
    return { status: 'ok' }
  })
}
