import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { overloaded, refuse } from '../../domain/errors.js'
import type { Scope } from '../../domain/scope.js'
import type { Bundle } from '../../evidence/bundle/bundle.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { asDownload } from '../download.js'
import { type ByNotification, notificationId } from './wire.js'

export interface EvidenceOptions {
  belongsTo(scope: Scope, notification: string): Promise<boolean>
  buildBundle(notification: string): Promise<Bundle | null>
}

const zipSchema = {
  description:
    'O pacote de evidências: um ZIP que qualquer pessoa confere sem rede, na página /verificar ou com `carteiro verify`.',
  content: { 'application/zip': { schema: Type.String({ format: 'binary' }) } },
}

/** Making a bundle reads every file once and signs documents; writing it takes a quarter of a megabyte at a time. */
const MADE_AT_ONCE = 4
const WAITING = 64

/** GET /gw/evidence/{idEmail}: everything that proves a notification, in one file. */
export function addEvidence(app: FastifyInstance, { belongsTo, buildBundle }: EvidenceOptions): void {
  const makers = new Semaphore({ permits: MADE_AT_ONCE, maxWaiting: WAITING, refusal: overloaded })
  app.get<ByNotification>(
    '/gw/evidence/:idEmail',
    { schema: { summary: 'Pacote de evidências, em ZIP', tags: ['Comprovantes'], response: { 200: zipSchema } } },
    async (request, reply) => {
      const id = notificationId(request)
      if (!(await belongsTo(request.caller, id))) refuse('noStatus')
      const bundle = (await makers.run(() => buildBundle(id))) ?? refuse('noStatus')
      return asDownload(reply, 'application/zip', `evidencia-${id}.zip`)
        .header('content-length', bundle.size)
        .send(Readable.from(bundle.write(), { objectMode: false }))
    },
  )
}
