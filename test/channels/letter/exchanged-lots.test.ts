import { expect, test } from 'vitest'
import { createLotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import { takeCarrierEvents } from '../../../src/engine/record/carrier-events.js'
import { createRecorder } from '../../../src/engine/record/recorder.js'
import { Wake } from '../../../src/runtime/wake.js'
import { attemptBy, sourceOf, UNHEARD } from '../../support/gateway/attempts.js'
import { gatewayForFile } from '../../support/gateway/gateway.js'
import { send, validSend } from '../../support/gateway/requests.js'

/** Lots of a contract with Correios that another contract took the place of. */

const { database, gateway, account } = await gatewayForFile()

const [OLD, NEW] = ['e-carta:old.example/1', 'e-carta:new.example/2']
const upload = { part: 'p', size: 1, sha256: 'ab' }

/** A letter in a lot that the old contract's server has. */
async function uploaded(): Promise<{ id: string; reference: string; name: string }> {
  const { body } = await send(gateway.url, account.token, { ...validSend, to: undefined, carta: { name: 'Maria' } })
  const { idEmail: id } = body as { idEmail: string }
  await attemptBy(database.pool, id, 'letter', OLD)
  const journal = createLotJournal(database.pool, OLD)
  const reference = `${id}.letter.1`
  const { lot } = await journal.open([reference])
  expect(await journal.begin(lot, upload, [{ reference, object: 1 }])).toBe(true)
  await journal.uploaded(lot)
  return { id, reference, name: `${lot}.1` }
}

test('a lot that the old contract uploaded answers for no letter that the new one is asked about or sends', async () => {
  const { reference } = await uploaded()
  const journal = createLotJournal(database.pool, NEW)
  expect(await journal.find(reference)).toBeNull()
  expect((await journal.withdraw([reference])).size).toBe(0)
  const { lot, places } = await journal.open([reference])
  expect(places.get(reference)).toMatchObject({ lot, begun: false, uploaded: false })
  // The old contract is not asked for the letter any more: an operator gave it to the new one.
  expect(await createLotJournal(database.pool, OLD).find(reference)).toBeNull()
})

test('a return file of the new contract that names a lot of the old one changes nothing', async () => {
  const { id, name } = await uploaded()
  const parts = {
    pool: database.pool,
    clock: Date.now,
    recorder: createRecorder(database.pool, Date.now, new Wake()),
    ...UNHEARD,
  }
  const posted = { kind: 'report', of: { carrier: [name] }, type: 'sent', at: null, answer: 'postado' } as const
  const sent = async (): Promise<unknown> =>
    (await database.pool.query('select sent_at is not null as sent from delivery where notification_id = $1', [id])).rows[0]
  await takeCarrierEvents(sourceOf('letter', NEW), [posted], parts)
  expect(await sent()).toEqual({ sent: false })
  await takeCarrierEvents(sourceOf('letter', OLD), [posted], parts)
  expect(await sent()).toEqual({ sent: true })
})
