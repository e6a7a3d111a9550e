import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryContext, World } from '../../../src/channels/channel-runtime.js'
import type { LetterConfig } from '../../../src/channels/letter/channel.js'
import { letterRuntime } from '../../../src/channels/letter/delivery.js'
import type { ECartaOptions } from '../../../src/channels/letter/e-carta/e-carta.js'
import { keepReceipt } from '../../../src/channels/letter/receipts.js'
import { sha256 } from '../../../src/domain/evidence/evidence.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { Wake } from '../../../src/runtime/wake.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { request, send, validSend } from '../../support/gateway/requests.js'

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

test('a receipt of a letter that the carrier was never given is told to the operator', async () => {
  const errors: string[] = []
  const context = {
    config: { carriers: [], keyFile: null, tracking: null },
    pool: database.pool,
    hasCarriers: true,
    simulatorAddress: async () => null,
    onError: (error: unknown, about: string) => void errors.push(`${about}: ${(error as Error).message}`),
  } as unknown as DeliveryContext<LetterConfig>
  const delivery = await letterRuntime.openDelivery(context)
  onTestFinished(() => delivery.close?.())
  const world = { carrier: 'e-carta:a.example/1', simulatorUrl: null } as World
  const { onReceipt } = delivery.partsOf('e-carta', world) as ECartaOptions
  await onReceipt('9.1', { type: 'png', bytes: Buffer.from('uma imagem') })
  expect(errors).toEqual(['a receipt of e-Carta is not kept: no letter with the reference 9.1 was given to e-carta:a.example/1'])
})
