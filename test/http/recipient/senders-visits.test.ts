import { expect, test } from 'vitest'
import { makeVerificationCode, showVerificationCode, VERIFICATION_KEY } from '../../../src/domain/evidence/verification-code.js'
import { createAccount, gatewayForFile, testKeys } from '../../support/gateway/gateway.js'
import { eventsOf, openLink, sendNotification } from '../../support/gateway/recipients.js'
import { request } from '../../support/gateway/requests.js'
import { ANY_TIME, filled, visit } from '../../support/gateway/visitor.js'

/** Visits from addresses of the sender. Every visitor comes through a proxy that names their address. */
const { database, gateway } = await gatewayForFile({
  env: { TRUSTED_PROXIES: '127.0.0.1,::1' },
  parts: { recipientLimits: { robot: { sinceSentMs: ANY_TIME, sincePageMs: ANY_TIME } } },
})
const account = await createAccount(database.pool, { ranges: ['203.0.113.0/24', '127.0.0.0/8', '::1/128'] })

const from = (address: string) => ({ 'x-forwarded-for': address })
const gradesOf = async (id: string): Promise<[string, string][]> => {
  const { body } = await request(`${gateway.url}/gw/events/${id}`, { token: account.token })
  return (body as { data: { type: string; origem: string; prova: { grau: string } }[] }).data
    .filter(({ origem }) => origem === 'recipient')
    .map(({ type, prova }) => [type, prova.grau])
}

test.each([
  ['203.0.113.77', 'remetente', true],
  ['198.51.100.9', 'aparelho', undefined],
])('a reading from %s is the word of: %s', async (address, grade, fromSender) => {
  const { id, url, target } = await sendNotification(gateway, database.pool, account)
  await visit(url, { form: filled(target), headers: from(address) })
  expect(await gradesOf(id)).toContainEqual(['read', grade])
  const read = (await eventsOf(database.pool, id)).find(({ type }) => type === 'read')!
  expect(read.data).toMatchObject({ address })
  expect(read.data.fromSender).toBe(fromSender)
})

test('an address that is registered later changes nothing about an earlier visit', async () => {
  const { id, url, target } = await sendNotification(gateway, database.pool, account)
  await visit(url, { form: filled(target), headers: from('192.0.2.15') })
  await database.pool.query("insert into address_range (account_id, range) values ($1, '192.0.2.0/24')", [account.id])
  expect(await gradesOf(id)).toContainEqual(['read', 'aparelho'])
})

test('the receipt has the code and the address of the public page of verification', async () => {
  const { id, url, target } = await sendNotification(gateway, database.pool, account)
  const cookie = await openLink(url, target)
  await visit(`${url}/confirmar`, { form: filled(target), headers: { cookie } })
  const page = (await visit(`${url}/recibo`, { headers: { cookie } })).text
  const code = makeVerificationCode(testKeys.derive(VERIFICATION_KEY), id)
  expect(page).toContain(`/verificar/${code}`)
  expect(page).toContain(showVerificationCode(code))
})
