import type { FastifyInstance } from 'fastify'
import { refuse } from '../../src/domain/errors.js'
import { BoundedMap } from '../bounded-map.js'
import { requireGateway } from '../gateway-key.js'
import { readObject } from '../http/readers.js'

const MAX_TEXTS = 2_000
const MAX_TEXT = 10_000

/**
 * The texts of the gateway's own templates, by the reference of the message that comes next. Meta knows the approved templates; the simulator
 * gets each text from the gateway.
 */
export class ShownTexts {
  readonly #texts = new BoundedMap<string>(MAX_TEXTS)

  /** A message that is sent again has the same reference, so that the text stays. */
  find(reference: string | null): string | null {
    return this.#texts.get(reference ?? '') ?? null
  }

  addRoutes(app: FastifyInstance, key: string): void {
    app.put<{ Params: { reference: string } }>('/simulator/whatsapp/texts/:reference', async request => {
      requireGateway(request, key)
      const { text } = readObject(request.body)
      if (typeof text !== 'string') return refuse('notText', 'text')
      if (text.length > MAX_TEXT) return refuse('tooLong', 'text', '10.000')
      this.#texts.set(request.params.reference, text)
      return { message: 'Texto guardado.' }
    })
  }
}
