import { expect, test } from 'vitest'
import { SendError } from '../../../src/channels/provider.js'
import type { StoredCall } from '../../../src/channels/voice/call-store.js'
import { createScriptReader } from '../../../src/channels/voice/preparation.js'
import { completeSettings } from '../../../src/domain/account.js'
import type { CarrierSource } from '../../../src/domain/delivery/carrier-source.js'
import { overloaded } from '../../../src/domain/errors.js'

const id = '01890a5d-ac96-774b-bcce-b302099a8057'
const carrier = 'twilio/api.example/AC1'
const source: CarrierSource = { channel: 'voice', carriers: [carrier], modes: ['live'] }
const call: StoredCall = {
  account: id,
  accountName: 'Acme',
  mode: 'live',
  channel: 'voice',
  attempted: [`1 ${carrier}`],
  settings: completeSettings({}),
  request: { payload: {} },
  template: null,
  protected: false,
  heard: false,
}
const readScript = (failure: unknown) =>
  createScriptReader(
    async () => call,
    async () => {
      throw failure
    },
  )(`${id}.voice.1`, source)

test('a carrier that asks for the words while the account’s templates are postponed is told that we are overloaded', async () => {
  const postponed = new SendError('temporary', 'Outro template demora.', { untried: true, cause: overloaded() })
  await expect(readScript(postponed)).rejects.toMatchObject({ name: 'Refusal', code: 'overloaded' })
})

test('any other failure stays what it is', async () => {
  await expect(readScript(new Error('the database is away'))).rejects.toThrow('the database is away')
})

test('the name that is spoken is the one of calls, or the brand’s, or the account’s', async () => {
  const saysFor = async (settings: Parameters<typeof completeSettings>[0]): Promise<string> => {
    const render = async () => ({ text: 'Bom dia.', template: { metadata: {} } })
    const script = await createScriptReader(async () => ({ ...call, settings: completeSettings(settings) }), render as never)(
      `${id}.voice.1`,
      source,
    )
    return (script as { greeting: string }).greeting
  }
  expect(await saysFor({})).toContain('uma ligação de Acme,')
  expect(await saysFor({ 'brand.name': 'Acme Cobranças' })).toContain('uma ligação de Acme Cobranças,')
  expect(await saysFor({ 'brand.name': 'Acme Cobranças', 'voice.name': 'a Acme' })).toContain('uma ligação de a Acme,')
})
