import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeDamage } from '../independent/damage.js'
import { describeBulkVerdict, runBulkDrill } from './bulk.js'
import { describeTroubleVerdict, runTroubleDrill } from './database-trouble.js'
import { type DrillChannel, type DrillKind, type DrillPoint, drillChannels, drillKinds, drillPoints, runDrill } from './drill.js'
import { describeExchangeVerdict, runExchangeDrill } from './exchange.js'
import { describeFailoverVerdict, runFailoverDrill } from './failover.js'
import { describeRestoreVerdict, runRestoreDrill } from './restore.js'
import { describeSoakVerdict, runSoakDrill } from './soak.js'
import { describeUpgradeVerdict, runUpgradeDrill } from './upgrade.js'
import { describeUploadVerdict, runUploadDrill } from './uploads.js'
import { describeWebhookVerdict, runWebhookDrill } from './webhooks.js'

/** npm run drill -- KIND [--channel C] [--count N] [--letters N] [--seed N] [--apis N] [--workers N] [--clients N] [--queued N] [--point P] [--down SECONDS] [--seconds N] [--folder F] [--good N] [--damaged N] [--asynchronous] */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    channel: { type: 'string', default: 'email' },
    count: { type: 'string' },
    seed: { type: 'string', default: '1' },
    apis: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    clients: { type: 'string', default: '16' },
    queued: { type: 'string', default: '10000' },
    point: { type: 'string' },
    down: { type: 'string' },
    seconds: { type: 'string', default: '300' },
    letters: { type: 'string', default: '200' },
    lines: { type: 'string', default: '100000' },
    rate: { type: 'string', default: '10' },
    folder: { type: 'string', default: join(tmpdir(), 'carteiro-evidence') },
    asynchronous: { type: 'boolean', default: false },
    good: { type: 'string', default: '200' },
    damaged: { type: 'string', default: '2000' },
  },
})
const [kind] = positionals
const known =
  (['bulk', 'webhooks', 'uploads', 'exchange', 'failover', 'restore', 'soak', 'upgrade', 'database-trouble', 'evidence'].includes(
    kind ?? '',
  ) ||
    drillKinds.includes(kind as DrillKind)) &&
  drillChannels.includes(values.channel as DrillChannel) &&
  (values.point === undefined || drillPoints.includes(values.point as DrillPoint))
if (!known) {
  process.stderr.write(
    `Usage: npm run drill -- ${drillKinds.join('|')}|bulk|webhooks|uploads|exchange|failover|restore|soak|upgrade|database-trouble|evidence [--channel ${drillChannels.join('|')}] [--count N] [--seed N] [--apis N] [--workers N] [--clients N] [--queued N] [--point ${drillPoints.join('|')}] [--down SECONDS] [--seconds N] [--letters N] [--lines N] [--rate N] [--folder F] [--good N] [--damaged N] [--asynchronous]\n`,
  )
  process.exit(2)
}

// A freeze lasts minutes, each of the others seconds.
const count = Number.parseInt(values.count ?? (kind === 'freeze' ? '1' : '10'), 10)
const number = (text: string): number => Number.parseInt(text, 10)
const onProgress = (done: number, of: number, note = ''): unknown => process.stderr.write(`\r${kind} ${done}/${of} ${note}   `)
if (kind === 'evidence') {
  // Bundles for another verifier, with our verdicts beside them.
  const { folder } = values
  const verdicts = await writeDamage({
    folder,
    good: number(values.good),
    damaged: number(values.damaged),
    seed: number(values.seed),
  })
  const codes = Object.values(verdicts).map(({ code }) => code)
  const held = codes.filter(code => code === 0).length
  process.stdout.write(
    `${codes.length} bundles in ${folder}, ${held} hold; verdicts.json has what carteiro verify says of each\n`,
  )
  process.exit(0)
}
if (kind === 'webhooks') {
  const verdict = await runWebhookDrill({
    count,
    seed: number(values.seed),
    workers: number(values.workers),
    clients: number(values.clients),
    queued: number(values.queued),
    downMs: 1_000 * number(values.down ?? '300'),
    onProgress,
  })
  process.stdout.write(describeWebhookVerdict(verdict, values.seed))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'restore') {
  const verdict = await runRestoreDrill({ sends: count, onProgress })
  process.stdout.write(describeRestoreVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'soak') {
  const verdict = await runSoakDrill({ seconds: number(values.seconds), perSecond: number(values.rate), onProgress })
  process.stdout.write(describeSoakVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'database-trouble') {
  const verdict = await runTroubleDrill({ count, clients: number(values.clients), onProgress })
  process.stdout.write(describeTroubleVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'failover') {
  const verdict = await runFailoverDrill({
    clients: number(values.clients),
    count: number(values.count ?? '100'),
    downMs: 1_000 * number(values.down ?? '5'),
    synchronous: !values.asynchronous,
    onProgress,
  })
  process.stdout.write(describeFailoverVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'upgrade') {
  const verdict = await runUpgradeDrill({ clients: number(values.clients), count: number(values.count ?? '100'), onProgress })
  process.stdout.write(describeUpgradeVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'uploads') {
  const verdict = await runUploadDrill({ count, clients: number(values.clients), onProgress })
  process.stdout.write(describeUploadVerdict(verdict))
  process.exit(verdict.clean ? 0 : 1)
}
if (kind === 'bulk') {
  const verdict = await runBulkDrill({ lines: number(values.lines), onProgress })
  process.stdout.write(describeBulkVerdict(verdict))
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
  count,
  seed: number(values.seed),
  apis: number(values.apis),
  workers: number(values.workers),
  clients: number(values.clients),
  queued: number(values.queued),
  seconds: number(values.seconds),
  point: values.point as DrillPoint | undefined,
  fullMs: values.down === undefined ? undefined : 1_000 * number(values.down),
  onProgress,
})
const { verdict, disk } = report
const diskLine =
  disk === null
    ? ''
    : `disk        full: ${disk.attempts} failed starts (${disk.reason}); answers again ${disk.backMs} ms after it had room\n`
process.stdout.write(`
drill       ${kind}, ${values.channel}, seed ${values.seed}
broken      ${report.broken} workers with deliveries in flight
A answered  ${verdict.answered}
E stored    ${verdict.stored}   lost ${verdict.lost}
P carrier   strangers ${verdict.strangers}   doubles ${verdict.doubles} (at most ${report.mostDoubles} explained)
open        unfinished ${verdict.unfinished}   uncertain ${verdict.uncertain}   failed ${verdict.failed}
${diskLine}faults      ${verdict.faults.length === 0 ? 'none: chains whole, statuses rebuilt, dates in order' : verdict.faults.slice(0, 20).join('\n            ')}
verdict     ${report.clean ? 'CLEAN' : 'NOT CLEAN'}
`)
process.exit(report.clean ? 0 : 1)
