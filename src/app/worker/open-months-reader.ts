import { readOpenMonths } from '../../store/delivery/open-months.js'
import type { IdMonths } from '../../store/months.js'
import type { Pool } from '../../store/postgres.js'

/**
 * Remembers the months of the notifications that may have work. An operator may put an old delivery back into the queue, so they are to be
 * refreshed every minute. Until they were read once, they are null: all months.
 */
export async function openMonthsReader(
  pool: Pool,
  onError: (error: unknown) => void,
): Promise<{ current(): IdMonths | null; refresh(): Promise<void> }> {
  let months: IdMonths | null = null
  const refresh = async (): Promise<void> => {
    months = await readOpenMonths(pool)
  }
  await refresh().catch(onError)
  return { current: () => months, refresh }
}
