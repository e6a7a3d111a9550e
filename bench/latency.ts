import { DeliveringGateway } from './gateway.js'
import { type PacedLoad, pacedLoad, type Target } from './load.js'
import { note, print, verdict } from './report.js'
import type { Sink } from './sink.js'
import type { Workspace } from './workspace.js'

/** What a sender feels of the worker: the api's latency while a long queue is drained, against when nothing is queued. */
const LOOKUPS_PER_SECOND = 100
const SENDS_PER_SECOND = 50
const SECONDS = 8
const MOST = 3

export async function measureLatency(workspace: Workspace, sink: Sink, queued: number): Promise<void> {
  const subject = await workspace.createSubject('delivery_latency')
  const gateway = await DeliveringGateway.start(workspace, subject, sink, null)
  const { rows } = await subject.pool.query<{ id: string }>('select id from notification limit 1')
  const lookup: Target = { ...gateway.target, method: 'GET', path: `/gw/email/${rows[0]!.id}`, body: '' }
  const both = (): Promise<[PacedLoad, PacedLoad]> =>
    Promise.all([pacedLoad(lookup, LOOKUPS_PER_SECOND, SECONDS), pacedLoad(gateway.target, SENDS_PER_SECOND, SECONDS)])
  await both()
  note('latency with nothing queued')
  const idle = await both()
  note(`latency while ${queued} are drained`)
  await gateway.queue(queued)
  gateway.wake()
  const busy = await both()
  const { rows: left } = await subject.pool.query<{ left: number }>(
    "select count(*)::int as left from delivery where state in ('queued', 'sending')",
  )
  if (left[0]!.left < queued / 100) note(`the queue was empty before the end: --queued should be more than ${queued}`)
  await gateway.untilDelivered()
  await gateway.stop()
  for (const [index, name] of ['lookup', 'send'].entries()) {
    print(`${''.padEnd(14)}${name}, p99: ${idle[index]!.p99.toFixed(1)} ms idle, ${busy[index]!.p99.toFixed(1)} ms draining\n`)
    verdict(`${name}, p99 draining / idle`, busy[index]!.p99 / idle[index]!.p99, 'at most', MOST)
  }
}
