import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'

/** A data folder that goes away with the test; whatever database still runs on it is stopped first. */
export function dataFolder(owner?: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-data-'))
  chmodSync(folder, 0o755)
  if (owner !== undefined) chownSync(folder, owner, owner)
  onTestFinished(() => {
    stopDatabase(folder)
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** A data folder with a server that is initialised but holds nothing: a start on it need not run initdb first. */
export function initialisedDataFolder(): string {
  const folder = dataFolder()
  execFileSync('cp', ['-a', inject('freshServer'), join(folder, 'postgres')])
  return folder
}

function stopDatabase(folder: string): void {
  try {
    const pid = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, 'SIGQUIT')
    for (let round = 0; round < 200; round++) {
      process.kill(pid, 0)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 25)
    }
  } catch {
    // Not running (any more): what we wanted.
  }
}
