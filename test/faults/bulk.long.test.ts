import { expect, test } from 'vitest'
import { runBulkDrill } from '../drills/bulk.js'

/** Lines enough for ten turns of the sender; `npm run drill -- bulk` measures single sends beside a larger batch. */
const LINES = 1_500

test('a batch whose processes are all killed twice: each line is one notification, none twice and none lost', async () => {
  const { accepted, twice, lost, unsent } = await runBulkDrill({ lines: LINES, turnMs: 1_000, calmTurns: 3, yields: false })
  expect({ accepted, twice, lost, unsent }).toEqual({ accepted: LINES, twice: 0, lost: 0, unsent: 0 })
})
