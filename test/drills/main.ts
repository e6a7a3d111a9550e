import { parseArgs } from 'node:util'
import { type DrillChannel, type DrillKind, type DrillPoint, drillChannels, drillKinds, drillPoints, runDrill } from './drill.js'
import { describeExchangeVerdict, runExchangeDrill } from './exchange.js'
import { describeWebhookVerdict, runWebhookDrill } from './webhooks.js'

/** npm run drill -- KIND [--channel C] [--count N] [--letters N] [--seed N] [--apis N] [--workers N] [--clients N] [--queued N] [--point P] [--down SECONDS] */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    channel: { type: 'string', default: 'email' },
    count: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    apis: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    clients: { type: 'string', default: '16' },
    queued: { type: 'string', default: '10000' },
    point: { type: 'string' },
    down: { type: 'string', default: '300' },
    letters: { type: 'string', default: '200' },
  },
})
const [kind] = positionals
const known =
  (kind === 'webhooks' || kind === 'exchange' || drillKinds.includes(kind as DrillKind)) &&
  drillChannels.includes(values.channel as DrillChannel) &&
  (values.point === undefined || drillPoints.includes(values.point as DrillPoint))
if (!known) {
  process.stderr.write(
    `Usage: npm run drill -- ${drillKinds.join('|')}|webhooks|exchange [--channel ${drillChannels.join('|')}] [--count N] [--seed N] [--apis N] [--workers N] [--clients N] [--queued N] [--point ${drillPoints.join('|')}] [--down SECONDS] [--letters N]\n`,
  )
  process.exit(2)
}

const number = (text: string): number => Number.parseInt(text, 10)
const onProgress = (done: number, of: number): unknown => process.stderr.write(`\r${kind} ${done}/${of}   `)
if (kind === 'webhooks') {
  const verdict = await runWebhookDrill({
    count: number(values.count),
    seed: number(values.seed),
    workers: number(values.workers),
    clients: number(values.clients),
    queued: number(values.queued),
    downMs: 1_000 * number(values.down),
    onProgress,
  })
  process.stdout.write(describeWebhookVerdict(verdict, values.seed))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'exchange') {
  const verdict = await runExchangeDrill({ letters: number(values.letters), workers: number(values.workers), onProgress })
  process.stdout.write(describeExchangeVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
const report = await runDrill({
  kind: kind as DrillKind,
  channel: values.channel as DrillChannel,
  count: number(values.count),
  seed: number(values.seed),
  apis: number(values.apis),
  workers: number(values.workers),
  clients: number(values.clients),
  queued: number(values.queued),
  point: values.point as DrillPoint | undefined,
  onProgress,
})
const { verdict } = report
process.stdout.write(`
drill       ${kind}, ${values.channel}, seed ${values.seed}
broken      ${report.broken} workers with deliveries in flight
A answered  ${verdict.answered}
E stored    ${verdict.stored}   lost ${verdict.lost}
P carrier   strangers ${verdict.strangers}   doubles ${verdict.doubles} (at most ${report.mostDoubles} explained)
open        unfinished ${verdict.unfinished}   uncertain ${verdict.uncertain}   failed ${verdict.failed}
faults      ${verdict.faults.length === 0 ? 'none: chains whole, statuses rebuilt, dates in order' : verdict.faults.slice(0, 20).join('\n            ')}
verdict     ${report.clean ? 'CLEAN' : 'NOT CLEAN'}
`)
process.exit(report.clean ? 0 : 1)
