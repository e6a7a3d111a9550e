import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../src/runtime/free-port.js'
import { reach, untilListening } from '../../test/support/programs/other-programs.js'
import type { Target } from '../support/load.js'
import { stop, type Workspace } from '../support/workspace.js'

/**
 * Kannel's sendsms, the usual open-source SMS gateway, as Debian packages it: smsbox takes the request, bearerbox spools it
 * to a file and answers, and its "fake" carrier takes the message away. It does one channel, keeps no status and does not
 * wait for the disk.
 */
export interface Kannel {
  target: Target
  stop(): Promise<void>
}

const BEARERBOX = '/usr/sbin/bearerbox'
const SMSBOX = '/usr/sbin/smsbox'

export async function startKannel(workspace: Workspace, message: string): Promise<Kannel> {
  if (!existsSync(BEARERBOX) || !existsSync(SMSBOX)) throw new Error('not installed')
  const folder = workspace.folder('kannel')
  const [admin, boxes, carrier, sendsms] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const config = join(folder, 'kannel.conf')
  writeFileSync(
    config,
    `group = core
admin-port = ${admin}
admin-password = bench
smsbox-port = ${boxes}
box-allow-ip = 127.0.0.1
log-level = 4
store-type = spool
store-location = ${workspace.folder('kannel/spool')}

group = smsc
smsc = fake
smsc-id = fake
port = ${carrier}
connect-allow-ip = 127.0.0.1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${sendsms}
log-level = 4

group = sendsms-user
username = bench
password = bench
`,
  )
  const options = { cwd: folder, stdio: 'ignore' } as const
  const bearerbox = workspace.spawn(BEARERBOX, ['-v', '4', config], options)
  const fake = await reach(carrier)
  fake.resume()
  await untilListening(boxes)
  const smsbox = workspace.spawn(SMSBOX, ['-v', '4', config], options)
  await untilListening(sendsms)
  const query = new URLSearchParams({ username: 'bench', password: 'bench', from: '1234', to: '+5511987654321', text: message })
  const address = `http://127.0.0.1:${sendsms}`
  const target: Target = { address, path: `/cgi-bin/sendsms?${query}`, method: 'GET', headers: {}, body: '' }
  await firstAnswer(target)
  return {
    target,
    async stop() {
      await stop(smsbox)
      fake.destroy()
      await stop(bearerbox)
    },
  }
}

/** smsbox listens before it has found bearerbox, and refuses until then. */
async function firstAnswer({ address, path }: Target): Promise<void> {
  let answer = 'none'
  for (let round = 0; round < 100; round++) {
    const response = await fetch(address + path)
    answer = `${response.status} ${await response.text()}`
    if (response.status === 202) return
    await sleep(50)
  }
  throw new Error(`sendsms answers ${answer}`)
}
