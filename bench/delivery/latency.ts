import { pacedLoad, type Target } from '../support/load.js'
import { median, note, print, verdict } from '../support/report.js'
import type { Workspace } from '../support/workspace.js'
import { DeliveringGateway } from './gateway.js'
import type { Sink } from './sink.js'

const LOOKUPS_PER_SECOND = 100
const SENDS_PER_SECOND = 50
const SECONDS = 4
const MAX_RATIO = 3

/** What a sender feels of the worker: the api's latency while a long queue is drained, against when nothing is queued. */
export async function measureLatency(workspace: Workspace, sink: Sink, rounds: number, queued: number): Promise<void> {
  const subject = await workspace.createSubject('delivery_latency')
  const gateway = await DeliveringGateway.start(workspace, subject, sink, null)
  const { rows } = await subject.pool.query<{ id: string }>('select id from notification limit 1')
  const lookup: Target = { ...gateway.target, method: 'GET', path: `/gw/email/${rows[0]!.id}`, body: '' }
  const both = async (): Promise<number[]> => {
    const loads = await Promise.all([
      pacedLoad(lookup, LOOKUPS_PER_SECOND, SECONDS),
      pacedLoad(gateway.target, SENDS_PER_SECOND, SECONDS),
    ])
    return loads.map(load => load.p99)
  }
  await both()
  const idle: number[][] = []
  const busy: number[][] = []
  for (let round = 1; round <= rounds; round++) {
    idle.push(await both())
    await gateway.queue(queued)
    gateway.wake()
    busy.push(await both())
    if (!(await gateway.isDelivering())) note(`the queue was empty too early: --queued should be more than ${queued}`)
    await gateway.untilDelivered()
    note(`round ${round} of ${rounds}, latency while ${queued} are drained: p99 ${busy.at(-1)!.map(Math.round).join(' and ')} ms`)
  }
  await gateway.stop()
  for (const [index, name] of ['lookup', 'send'].entries()) {
    const of = (runs: number[][]): number[] => runs.map(run => run[index]!)
    print(`${''.padEnd(14)}${name}, p99: ${median(of(idle)).toFixed(1)} ms idle, ${median(of(busy)).toFixed(1)} ms draining\n`)
    verdict(
      `${name}, p99 draining / idle`,
      median(of(busy).map((p99, round) => p99 / idle[round]![index]!)),
      'at most',
      MAX_RATIO,
    )
  }
}
