import { randomBytes, randomUUID } from 'node:crypto'
import fastify from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { proofDocument } from '../../src/channels/letter/channel.js'
import { makeLinkCode } from '../../src/domain/recipient/link.js'
import { addDocuments } from '../../src/http/documents.js'

test('a document that is made on demand is answered whole, because ranges of two makings do not make one file', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  const key = randomBytes(32)
  const reader = {
    async open() {
      const pdf = randomBytes(1_000)
      return { size: pdf.length, read: async (from: number, length: number) => pdf.subarray(from, from + length) }
    },
  }
  addDocuments(app, [{ route: proofDocument, key, reader }])
  const url = `${proofDocument.path}/${makeLinkCode(key, randomUUID(), 4)}.pdf`
  const answer = await app.inject({ url, headers: { range: 'bytes=10-19' } })
  expect([answer.statusCode, answer.rawPayload.length]).toEqual([200, 1_000])
  expect(answer.headers).not.toHaveProperty('accept-ranges')
  expect(answer.headers).not.toHaveProperty('content-range')
})
