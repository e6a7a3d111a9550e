import { readConfig } from '../../../src/app/config.js'
import { bulkWork } from '../../../src/app/worker/bulk.js'
import type { Pool } from '../../../src/store/postgres.js'
import { testKeys } from './gateway.js'

/** The worker's part of batches, which a test runs when it needs it. An error fails the test. */
export const bulkWorkForTest = (pool: Pool): ReturnType<typeof bulkWork> =>
  bulkWork({
    config: readConfig({}),
    keys: testKeys,
    pool,
    clock: Date.now,
    previews: new Map(),
    onError: error => {
      throw error
    },
  })
