import fastify from 'fastify'
import { expect, test } from 'vitest'
import type { CarrierEvent } from '../../src/channels/provider.js'
import { channelModules } from '../../src/channels/registry.js'
import { addCallbacks } from '../../src/http/callbacks.js'

const report: CarrierEvent = { kind: 'report', of: { carrier: ['1'] }, type: 'delivered', at: null, answer: 'ok' }
const reply: CarrierEvent = { kind: 'reply', from: ['+5511987654321'], text: 'ok', id: '1', inReplyTo: null, at: null }

test.each([
  [true, [{ ...report, signed: true }, reply]],
  [false, [report, reply]],
])('reports of a carrier that signs its callbacks are marked as signed: %s', async (signed, expected) => {
  const app = fastify()
  const taken: CarrierEvent[] = []
  const callback = { name: 'x', channel: 'sms', read: async () => ({ carriers: ['x:y/1'], events: [report, reply] }) }
  addCallbacks(
    app,
    {
      served: [{ path: '/callbacks/x', modes: ['live'], signed, callback }],
      publicUrl: () => 'http://localhost',
      take: async (_source, events) => {
        taken.push(...events)
        return true
      },
    },
    async () => Buffer.alloc(0),
  )
  expect((await app.inject({ method: 'GET', url: '/callbacks/x' })).statusCode).toBe(200)
  expect(taken).toEqual(expected)
  await app.close()
})

test('the providers that sign their callbacks are those whose readers verify a signature over the content', () => {
  const signing = channelModules.flatMap(({ providers }) =>
    Object.entries(providers).filter(([, { signsCallbacks }]) => signsCallbacks === true),
  )
  expect(signing.map(([name]) => name).sort()).toEqual(['print-shop', 'twilio', 'whatsapp-cloud'])
})
