import { expect, inject, test } from 'vitest'
import { runKillRounds } from '../drills/kill-rounds.js'
import { initialisedDataFolder } from '../support/database/data-folder.js'

test('kill -9 under load, six times: every id that was answered is there once, and every chain is whole', async () => {
  const verdict = await runKillRounds({ data: initialisedDataFolder(), rounds: 6, clients: 64, seed: inject('seed') })
  expect(verdict).toMatchObject({ lost: [], incomplete: [], doubled: 0, unrecorded: 0, brokenChains: [] })
  expect(verdict.answered).toBeGreaterThanOrEqual(10)
})
