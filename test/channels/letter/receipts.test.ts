import { expect, test } from 'vitest'
import { keepReceipt } from '../../../src/channels/letter/receipts.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { Wake } from '../../../src/runtime/wake.js'
import { gatewayForFile } from '../../support/gateway.js'
import { request, send, validSend } from '../../support/requests.js'

const { database, gateway, account } = await gatewayForFile()

test('the event of a signed receipt has its digest, once however often the post reports it, and the first image stays', async () => {
  const { pool } = database
  const { to: _, ...rest } = validSend
  const { body } = await send(gateway.url, account.token, { ...rest, carta: { name: 'Maria' } })
  const notification = (body as { idEmail: string }).idEmail
  const parts = { pool, clock: Date.now, record: createRecorder(pool, Date.now, new Wake()).record }
  const of = { notification, ordinal: 1, carrier: 'e-carta:a.example/1' }
  const image = Buffer.from('uma imagem')
  await keepReceipt(parts, of, { type: 'png', bytes: image })
  await keepReceipt(parts, of, { type: 'png', bytes: image })
  await keepReceipt(parts, of, { type: 'jpg', bytes: Buffer.from('outra') })
  const { rows } = await pool.query("select data from event where notification_id = $1 and type = 'note'", [notification])
  expect(rows.map(({ data }) => data.receipt)).toEqual([{ type: 'png', sha256: sha256(image), size: image.length }])
  const timeline = await request(`${gateway.url}/gw/events/${notification}`, { token: account.token })
  expect(JSON.stringify(timeline.body)).toContain('Aviso de recebimento guardado')
})
