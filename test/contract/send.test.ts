import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway.js'
import { send, validSend } from '../support/requests.js'

let database: TestDatabase
let gateway: Gateway
let account: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

test('2.4 a send answers 200 with idEmail, a UUID', async () => {
  const { status, body } = await send(gateway.url, account.token, validSend)
  expect(body).toEqual({
    idEmail: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
  })
  expect(status).toBe(200)
})
