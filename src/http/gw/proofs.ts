import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../domain/errors.js'
import type { Scope } from '../../domain/scope.js'
import type { Dossier } from '../../store/evidence/dossier.js'
import { type ByNotification, notificationId, pathId } from './wire.js'

export interface ProofOptions {
  /** null: the scope has no such notification. */
  readDossier(scope: Scope, id: string): Promise<Dossier | null>
  documents: {
    sendingProof(dossier: Dossier): Promise<Uint8Array | { message: string }>
    report(dossier: Dossier): Promise<Uint8Array | null>
  }
}

const proofSchema = Type.Object({
  content: Type.Optional(Type.String({ description: 'O comprovante: um PDF, em base64.' })),
  message: Type.Optional(Type.String({ description: 'Por que não há comprovante; presente só enquanto não há.' })),
})
const reportSchema = { description: 'O laudo.', content: { 'application/pdf': { schema: Type.String({ format: 'binary' }) } } }

/** The sending proof and the expert report of a notification. */
export function addProofs(app: FastifyInstance, { readDossier, documents }: ProofOptions): void {
  app.get<ByNotification>(
    '/gw/sending-proof/:idEmail',
    {
      schema: {
        summary: 'Comprovante de envio',
        description:
          'Existe desde que um canal foi enviado: uma página por canal, com situação, datas e de quem é cada informação.',
        tags: ['Comprovantes'],
        response: { 200: proofSchema },
      },
    },
    async request => {
      const dossier = (await readDossier(request.caller, notificationId(request))) ?? refuse('noStatus')
      const made = await documents.sendingProof(dossier)
      return 'message' in made ? made : { content: Buffer.from(made.buffer, made.byteOffset, made.length).toString('base64') }
    },
  )
  app.get<ByNotification>(
    '/gw/email/laudo/:idEmail',
    {
      schema: {
        summary: 'Laudo da notificação, em PDF',
        description:
          'Existe desde que algo aconteceu depois da aceitação: todos os canais e eventos, o que provam e como conferir.',
        tags: ['Comprovantes'],
        response: { 200: reportSchema },
      },
    },
    async (request, reply) => {
      const id = pathId(request.params.idEmail, 'reportMissing')
      const dossier = (await readDossier(request.caller, id)) ?? refuse('reportMissing')
      const pdf = (await documents.report(dossier)) ?? refuse('reportMissing')
      return reply
        .type('application/pdf')
        .header('content-disposition', `inline; filename="laudo-${id}.pdf"`)
        .header('cache-control', 'no-store, private')
        .send(Buffer.from(pdf.buffer, pdf.byteOffset, pdf.length))
    },
  )
}
