import { expect, test } from 'vitest'
import { saysMailboxIsGone } from '../../src/channels/email/preparation.js'

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
