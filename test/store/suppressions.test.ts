import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { saysMailboxIsGone } from '../../src/channels/email/preparation.js'
import { databaseForTest } from '../support/database.js'
import { createAccount } from '../support/gateway.js'

test('recipients that were kept as they were written are kept in lower case after the upgrade, the oldest reason first', async () => {
  const { pool } = await databaseForTest()
  const { id } = await createAccount(pool)
  await pool.query(
    `insert into suppression (account_id, channel, recipient, reason, created_at) values
       ($1, 'email', 'Maria@example.com', 'complaint', '2026-01-02'), ($1, 'email', 'MARIA@example.com', 'hard bounce', '2026-01-01'),
       ($1, 'email', 'joao@example.com', 'complaint', '2026-01-01'), ($1, 'sms', '+5511987654321', 'opt-out', '2026-01-01')`,
    [id],
  )
  await pool.query(readFileSync('migrations/0013_suppressions.sql', 'utf8'))
  const { rows } = await pool.query('select recipient, reason from suppression order by recipient')
  expect(rows).toEqual([
    { recipient: '+5511987654321', reason: 'opt-out' },
    { recipient: 'joao@example.com', reason: 'complaint' },
    { recipient: 'maria@example.com', reason: 'hard bounce' },
  ])
})

test.each([
  ['550 5.1.1 User unknown', 'rejected', false, true],
  ['550-5.1.1 The account does not exist\n550 5.1.1 Learn more', 'rejected', false, true],
  ['550 5.2.1 The account is disabled', 'rejected', false, true],
  ['550 User unknown', 'rejected', false, false],
  ['552 5.2.2 Mailbox full', 'rejected', false, false],
  ['550 5.7.1 Relaying denied', 'rejected', false, false],
  ['550 5.1.2 No such domain', 'rejected', false, false],
  ['450 4.1.1 Try again', 'rejected', true, false],
])('"%s" (%s, dead: %s) means that the mailbox is gone: %s', (answer, failure, dead, gone) => {
  const data = { answer, failure: failure as 'rejected', ...(dead ? { dead } : {}) }
  expect(saysMailboxIsGone({ channel: 'email', type: 'failed', at: new Date(), source: 'smtp', data })).toBe(gone)
})
