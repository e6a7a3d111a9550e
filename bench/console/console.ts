import { DAY_MS } from '../../src/domain/units.js'
import { type Client, clientOf, signIn } from '../support/console-client.js'
import { cpuSeconds } from '../support/cpu.js'
import { machine, note, percentile, print, table } from '../support/report.js'
import { type Subject, type Workspace, withWorkspace } from '../support/workspace.js'
import { fillForConsole } from './fill.js'

export interface ConsoleOptions {
  stored: number
  runs: number
}

const POOL = 10
const MOST_MS = 50
const WARM_UP = 5

/** Notifications drawn at random: what people look for. */
interface Drawn {
  id: string
  customId: string
  recipient: string
  subject: string
}

/** How long a page of each list of the console takes, request and answer included, on a store of a million notifications. */
export const benchConsole = (options: ConsoleOptions): Promise<void> => withWorkspace(workspace => measure(workspace, options))

async function measure(workspace: Workspace, { stored, runs }: ConsoleOptions): Promise<void> {
  const subject = await workspace.createSubject('console')
  const accounts = await fillForConsole(subject, stored, workspace.signal, note)
  const server = await workspace.startServer(subject, [], POOL)
  const { rows, isMet } = await measureLists(subject, server.address, accounts, runs, server.pid)
  print(
    `\n${machine()}; ${stored} notifications of 5 accounts; ${runs} requests of each kind, one after the other; milliseconds.\ncpu: of the server and the database for one request. ratio: p99 beside the p99 of "select 1", asked by turns.\n\n`,
  )
  print(table(rows))
  print(`\n${isMet ? 'PASS' : 'below target'}  p99 of every list at most ${MOST_MS} ms\n`)
  await server.stop()
}

async function measureLists(subject: Subject, address: string, accounts: readonly string[], runs: number, pid: number) {
  const operator = clientOf(address, await signIn(subject, address, 'operadora', null))
  // The smallest account is the one that waits for the others, if a list reads what it does not show.
  const sender = clientOf(address, await signIn(subject, address, 'remetente', accounts.at(-1)!))
  const drawn = await draw(subject)
  const databasePids = async (): Promise<number[]> =>
    (await subject.pool.query<{ pid: number }>('select pid from pg_stat_activity where datname = current_database()')).rows.map(
      ({ pid }) => pid,
    )
  const cpu = async (): Promise<number> =>
    [pid, ...(await databasePids())].reduce((sum, process) => sum + cpuSeconds(process), 0) * 1_000
  const rows: string[][] = [['list', 'cpu', 'p50', 'p99', 'most', 'select 1 p99', 'ratio']]
  let isMet = true
  for (const [name, ask] of Object.entries(await listsOf(subject, operator, accounts[0]!, drawn))) {
    for (const [who, client] of name.startsWith('operators: ')
      ? ([['', operator]] as const)
      : ([
          ['', operator],
          [', of the smallest account', sender],
        ] as const)) {
      const times: number[] = []
      const trivial: number[] = []
      let before = 0
      for (let run = -WARM_UP; run < runs; run++) {
        if (run === 0) before = await cpu()
        const path = ask(drawn[(run + WARM_UP) % drawn.length]!)
        const start = performance.now()
        await client(path)
        const end = performance.now()
        // By turns with the list, so that both meet the same neighbours on this machine.
        await subject.pool.query('select 1')
        if (run >= 0) {
          times.push(end - start)
          trivial.push(performance.now() - end)
        }
      }
      // Of the server and the database: it depends less on what else the machine does.
      const spent = ((await cpu()) - before) / runs
      const p99 = percentile(times, 0.99)
      const least = percentile(trivial, 0.99)
      isMet &&= p99 <= MOST_MS
      rows.push([
        `${name.replace('operators: ', '')}${who}`,
        spent.toFixed(1),
        ...[0.5, 0.99, 1].map(share => percentile(times, share).toFixed(1)),
        least.toFixed(1),
        (p99 / least).toFixed(1),
      ])
      note(rows.at(-1)!.join('  '))
    }
  }
  return { rows, isMet }
}

async function draw({ pool }: Subject): Promise<Drawn[]> {
  const { rows } = await pool.query<Drawn>(
    `select n.id, n.custom_id as "customId", n.subject, d.recipient from notification n tablesample bernoulli (0.05)
     join delivery d on d.notification_id = n.id and d.channel = 'email' limit 400`,
  )
  return rows
}

/** Only operators and auditors have the lists whose name begins with `operators: `. */
async function listsOf({ pool }: Subject, operator: Client, account: string, drawn: readonly Drawn[]) {
  const found = (text: string): string => `/notifications?q=${encodeURIComponent(text)}`
  const day = (ago: number): string => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
  const { rows } = await pool.query<{ id: string }>(
    'select endpoint_id as id from webhook_attempt group by 1 order by count(*) desc limit 1',
  )
  const endpoint = rows[0]!.id
  /** The cursor of the tenth page. */
  const deep = async (path: string): Promise<string> => {
    const join = path.includes('?') ? '&' : '?'
    let cursor = ''
    for (let page = 0; page < 10; page++) {
      const { cursor: next } = await operator(cursor === '' ? path : `${path}${join}cursor=${encodeURIComponent(cursor)}`)
      if (next == null) break
      cursor = next
    }
    return cursor === '' ? path : `${path}${join}cursor=${encodeURIComponent(cursor)}`
  }
  const fixed = async (path: string) => {
    const further = await deep(path)
    return [() => path, () => further] as const
  }
  const lists: Record<string, (drawn: Drawn) => string> = {
    'overview, a day': () => '/overview',
    'overview, 30 days': () => '/overview?period=30d',
    'notifications, by id': ({ id }) => found(id),
    'notifications, by customID': ({ customId }) => found(customId),
    'notifications, by e-mail address': ({ recipient }) => found(recipient),
    'notifications, by a new subject': () => found('contrato 99'),
    'notifications, by an old subject': ({ subject }) => found(subject),
    'notifications, by what nobody has': () => found('não existe'),
    'notifications, by status and channel and day': () =>
      `/notifications?status=falhou&channel=email&from=${day(20)}&to=${day(10)}`,
    'operations, the queue': () => '/operations/queue',
    'suppressions, of a recipient': () => '/operations/suppressions?recipient=s4711@example.com',
    webhooks: () => '/webhooks',
    'operators: webhook attempts': () => `/webhooks/${endpoint}/attempts`,
    'operators: webhook attempts, failed': () => `/webhooks/${endpoint}/attempts?failed=true`,
    'operators: audit, of a person': () => '/audit?actor=operator:pessoa7@example.com',
    'operators: operators': () => '/operators',
    'operators: checkpoints': () => '/operations/evidence',
    accounts: () => '/accounts',
  }
  const paged: Record<string, string> = {
    notifications: '/notifications',
    'notifications, test mode': '/notifications?mode=test',
    'notifications, failed': '/notifications?status=falhou',
    'notifications, read': '/notifications?status=lido',
    'notifications, queued': '/notifications?status=queued',
    'notifications, by channel': '/notifications?channel=carta',
    'notifications, not reached': '/notifications?status=nao-alcancada',
    'notifications, of a day': `/notifications?from=${day(20)}&to=${day(20)}`,
    'deliveries, dead': '/operations/deliveries?state=dead',
    'deliveries, dead by channel': '/operations/deliveries?state=dead&channel=sms',
    'deliveries, unresolved': '/operations/deliveries?state=unresolved',
    'deliveries, uncertain': '/operations/deliveries?state=uncertain',
    suppressions: '/operations/suppressions',
    'suppressions, by channel': '/operations/suppressions?channel=email',
    'operators: templates': `/templates?account=${account}`,
    'operators: templates, by channel': `/templates?account=${account}&channel=sms`,
    'operators: tokens': `/accounts/${account}/tokens`,
    'operators: audit': '/audit',
  }
  for (const [name, path] of Object.entries(paged)) {
    const [first, tenth] = await fixed(path)
    lists[name] = first
    lists[`${name}, page 10`] = tenth
  }
  if (drawn.length === 0) throw new Error('nothing is stored')
  return lists
}
