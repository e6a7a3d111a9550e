import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/runtime/free-port.js'
import { findProgram, isRoot, untilListening } from '../../test/support/programs/other-programs.js'
import type { Workspace } from '../support/workspace.js'

/** Postfix's own test server, in C, where all mail ends: it takes everything and counts. */
export interface Sink {
  port: number
  /** Messages so far. */
  readonly received: number
  /** Resolves once that many came in all. */
  until(received: number): Promise<void>
}

const BACKLOG = '1000'

export async function startSink(workspace: Workspace): Promise<Sink> {
  const program = findProgram('smtp-sink')
  if (program === null) throw new Error('smtp-sink (package postfix) is not installed')
  const port = await freePort()
  const user = isRoot ? ['-u', 'nobody'] : []
  const child = workspace.spawn(program, ['-c', ...user, `127.0.0.1:${port}`, BACKLOG], { stdio: ['ignore', 'pipe', 'inherit'] })
  let received = 0
  child.stdout!.setEncoding('latin1').on('data', (text: string) => {
    const counts = [...text.matchAll(/mesg=(\d+)/g)]
    if (counts.length > 0) received = Number(counts.at(-1)![1])
  })
  await untilListening(port)
  return {
    port,
    get received() {
      return received
    },
    async until(count) {
      while (received < count) {
        workspace.signal.throwIfAborted()
        await sleep(5)
      }
    },
  }
}
