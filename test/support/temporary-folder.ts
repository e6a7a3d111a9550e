import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A folder that other users may write to as well, for programs that run as one of them. It goes away with the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-peer-'))
  chmodSync(folder, 0o777)
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
