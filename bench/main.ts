import { Command, InvalidArgumentError } from 'commander'
import { benchAccept } from './accept/accept.js'
import { benchLookup } from './accept/lookup.js'
import { benchChannels, benchedChannels } from './channels/channels.js'
import { benchConsole } from './console/console.js'
import { benchDelivery } from './delivery/delivery.js'
import { benchEvidence } from './evidence/evidence.js'
import { benchGrowth } from './growth/growth.js'
import { benchPages } from './pages.js'
import { benchWebhooks } from './webhooks/webhooks.js'

const whole =
  (least: number) =>
  (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < least) throw new InvalidArgumentError(`must be a whole number from ${least}`)
    return Number(text)
  }

/** npm run bench -- <name> [options] */
const program = new Command('bench').description('benchmarks; each prints one table')
program
  .command('accept')
  .description('accepting sends: how much of the limit of this machine is left once everything is written')
  .option('--seconds <n>', 'length of one measurement', whole(1), 5)
  .option('--rounds <n>', 'measurements of each kind; the median counts', whole(1), 3)
  .option('--stored <n>', 'notifications in the full store; 0 leaves it out', whole(0), 1_000_000)
  .action(benchAccept)
program
  .command('lookup')
  .description('status lookups, beside the same server answering a constant')
  .option('--seconds <n>', 'length of one measurement', whole(1), 5)
  .option('--rounds <n>', 'measurements of each kind; the median counts', whole(1), 3)
  .option('--stored <n>', 'notifications in the full store; 0 leaves it out', whole(0), 1_000_000)
  .action(benchLookup)
program
  .command('delivery')
  .description('e-mails from accepted to sent, beside Postfix and bare mail clients')
  .option('--count <n>', 'e-mails of one measurement', whole(100), 3_000)
  .option('--rounds <n>', 'measurements of each kind; the median counts', whole(1), 3)
  .option('--queued <n>', 'e-mails queued while the latency of the api is measured', whole(1_000), 10_000)
  .action(benchDelivery)
program
  .command('channels')
  .description('notifications from the queue to the simulated carrier, beside a bare client of the same protocol')
  .option('--channel <name>', `one of ${benchedChannels.join(', ')}; all of them unless said`)
  .option('--count <n>', 'notifications of each channel', whole(1), 2_000)
  .action(benchChannels)
program
  .command('pages')
  .description('recipients’ pages: views a second and bytes, beside a static file of the same server')
  .option('--seconds <n>', 'length of one measurement', whole(1), 5)
  .option('--rounds <n>', 'measurements of each kind; the median counts', whole(1), 3)
  .action(benchPages)
program
  .command('webhooks')
  .description('delivering webhooks, beside the bare HTTP client; and what a dead endpoint costs its neighbours')
  .option('--events <n>', 'events of one measurement', whole(1_000), 20_000)
  .option('--rounds <n>', 'measurements of each kind; the median counts', whole(1), 3)
  .action(benchWebhooks)
program
  .command('evidence')
  .description('the log of events beside accepting and delivering; documents; proofs in a long log')
  .option('--count <n>', 'notifications of one measurement', whole(100), 3_000)
  .option('--rounds <n>', 'measurements; the median counts', whole(1), 3)
  .option('--events <n>', 'events of the long log; 0 leaves it out', whole(0), 1_000_000)
  .action(benchEvidence)
program
  .command('console')
  .description('the lists of the console on a large store')
  .option('--stored <n>', 'notifications in the store', whole(1_000), 1_000_000)
  .option('--runs <n>', 'requests of each kind', whole(10), 200)
  .action(benchConsole)
const list = (text: string): number[] => text.split(',').map(whole(1))
program
  .command('growth')
  .description('what a send, a lookup, a claim and a page of the console cost as notifications, months and accounts grow')
  .option('--stored <n,n>', 'notifications in the store', list, [1_000_000])
  .option('--months <n,n>', 'months of partitions', list, [12, 60])
  .option('--accounts <n,n>', 'accounts', list, [10, 1_000])
  .option('--processes <n,n>', 'processes that work on the store at the same time', list, [1])
  .option('--turns <n>', 'turns of each kind of work on each store', whole(1), 6)
  .action(benchGrowth)
await program.parseAsync()
