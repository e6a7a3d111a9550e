import { spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { freePort } from '../../src/runtime/free-port.js'
import { isRoot, untilListening } from '../support/programs/other-programs.js'

/** Postfix's test server, stopped when the test ends. */
export async function smtpSink(program: string, options: string[], folder?: string): Promise<number> {
  const port = await freePort()
  const user = isRoot ? ['-u', 'nobody'] : []
  const sink = spawn(program, [...user, ...options, `127.0.0.1:${port}`, '1000'], {
    stdio: 'ignore',
    ...(folder === undefined ? {} : { cwd: folder }),
  })
  onTestFinished(() => void sink.kill())
  await untilListening(port)
  return port
}
