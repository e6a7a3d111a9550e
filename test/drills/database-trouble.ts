import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Cluster } from './cluster.js'
import { drain, LEASE_MS, loads } from './drill.js'
import { findNotifications, judge, type Verdict } from './verdict.js'

/** The database answers and cannot commit, again and again, while clients send: are /readyz and every answer true? */
export interface TroubleOptions {
  /** How often each trouble comes. */
  count: number
  clients: number
  onProgress?(done: number, of: number): void
}

export interface TroubleVerdict {
  /** Sends by the status of their answer. */
  answers: Record<string, number>
  /** Of the sends that were answered 504, those that were accepted after all. */
  acceptedUnknown: number
  /** Answers that turned out to be false, and readiness that was. */
  lies: string[]
  stored: Verdict
  clean: boolean
}

interface Sent {
  customId: string
  /** null: no answer came. */
  status: number | null
  id: string | null
}

/** Longer than any machine needs to notice a trouble or its end. */
const STUCK_MS = 120_000
/** Longer than the time after which a write that is not answered is given up. */
const HOLD_MS = 15_000
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/

/** Each returns how to end it. */
const troubles: Record<string, (cluster: Cluster) => Promise<() => Promise<void>>> = {
  'read-only database': cluster => setOnServer(cluster, 'default_transaction_read_only', 'on'),
  'locked table': async ({ adminUrl }) => {
    const locker = new pg.Client({ connectionString: adminUrl })
    await locker.connect()
    await locker.query('begin; lock table notification in access exclusive mode')
    return () => locker.end()
  },
  'lost synchronous standby': cluster => setOnServer(cluster, 'synchronous_standby_names', 'ausente'),
}

async function setOnServer({ adminUrl }: Cluster, setting: string, value: string): Promise<() => Promise<void>> {
  const change = async (command: string): Promise<void> => {
    const client = new pg.Client({ connectionString: adminUrl })
    await client.connect()
    await client.query(`alter system ${command}`)
    await client.query('select pg_reload_conf()')
    await client.end()
  }
  await change(`set ${setting} = '${value}'`)
  return () => change(`reset ${setting}`)
}

export async function runTroubleDrill({ count, clients, onProgress }: TroubleOptions): Promise<TroubleVerdict> {
  const cluster = new Cluster()
  try {
    await cluster.start({ apis: 1, workers: 1, leaseMs: LEASE_MS })
    const before = await findNotifications(cluster)
    const watch = new Watch(cluster, clients)
    watch.start()
    const rounds = Array.from({ length: count }, () => Object.entries(troubles)).flat()
    for (const [index, [name, begin]] of rounds.entries()) {
      await watch.reach(200, 5 * clients)
      const end = await begin(cluster)
      await watch.until(name, 503)
      // From here until its end nothing may be accepted, and nobody may be told that it would be.
      watch.trouble = name
      await sleep(HOLD_MS)
      await watch.reach('refused', clients)
      watch.trouble = null
      await end()
      await watch.until(`the end of: ${name}`, 200)
      onProgress?.(index + 1, rounds.length)
    }
    await watch.reach(200, 5 * clients)
    await watch.stop()
    const accepted = watch.sent.flatMap(({ status, id }) => (status === 200 ? [id!] : []))
    await drain(cluster, accepted, 'email')
    const stored = await judge(cluster, accepted, 'email', before)
    return judgeAnswers(watch, await readAccepted(cluster), stored)
  } finally {
    await cluster.stop()
  }
}

/** Clients that send without pause and remember every answer, and somebody who asks for the readiness all the while. */
class Watch {
  readonly sent: Sent[] = []
  readonly lies: string[] = []
  /** The trouble that the gateway has noticed and that lasts. */
  trouble: string | null = null
  readonly #cluster: Cluster
  readonly #clients: number
  #running: Promise<void>[] = []
  #stopping = false
  #readiness = 0

  constructor(cluster: Cluster, clients: number) {
    this.#cluster = cluster
    this.#clients = clients
  }

  start(): void {
    this.#running = [this.#askReadiness(), ...Array.from({ length: this.#clients }, () => this.#send())]
  }

  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#running)
  }

  /** Waits for so many more answers. */
  async reach(status: 200 | 'refused', count: number): Promise<void> {
    const from = this.sent.length
    const reached = () => this.sent.slice(from).filter(sent => (sent.status === 200) === (status === 200)).length
    await this.#wait(`${count} answers (${status})`, () => reached() >= count)
  }

  async until(what: string, readiness: number): Promise<void> {
    await this.#wait(what, () => this.#readiness === readiness)
  }

  async #wait(what: string, isReached: () => boolean): Promise<void> {
    for (const since = Date.now(); Date.now() - since < STUCK_MS; await sleep(50)) if (isReached()) return
    this.lies.push(`not seen: ${what}`)
  }

  async #askReadiness(): Promise<void> {
    for (; !this.#stopping; await sleep(100)) {
      const during = this.trouble
      const { status } = await fetch(`${this.#cluster.apis[0]!.url}/readyz`)
      this.#readiness = status
      if (status === 200 && during !== null && this.trouble === during) this.lies.push(`ready during: ${during}`)
    }
  }

  async #send(): Promise<void> {
    for (; !this.#stopping; await sleep(20)) {
      const during = this.trouble
      const n = this.#cluster.nextNumber()
      const customId = String(n)
      const body = {
        nameTo: 'Maria',
        ...loads.email.request(n),
        subject: `Aviso ${n}`,
        content: '<p>Aviso</p>',
        customID: customId,
      }
      try {
        const response = await fetch(`${this.#cluster.apis[0]!.url}/gw/email`, {
          method: 'POST',
          headers: { authorization: this.#cluster.token, 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal: AbortSignal.timeout(60_000),
        })
        const { status } = response
        const id = ID.exec(await response.text())?.[0] ?? null
        this.sent.push({ customId, status, id })
        if (status === 200 && during !== null && this.trouble === during) this.lies.push(`accepted during: ${during}`)
      } catch {
        this.sent.push({ customId, status: null, id: null })
      }
    }
  }
}

async function readAccepted({ pool }: Cluster): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ customId: string; id: string }>('select custom_id as "customId", id from notification')
  return new Map(rows.map(({ customId, id }) => [customId, id]))
}

function judgeAnswers({ sent, lies }: Watch, accepted: ReadonlyMap<string, string>, stored: Verdict): TroubleVerdict {
  const answers: Record<string, number> = {}
  const found = [...lies]
  let acceptedUnknown = 0
  for (const { customId, status, id } of sent) {
    const name = String(status)
    answers[name] = (answers[name] ?? 0) + 1
    const there = accepted.get(customId) ?? null
    if (status === 200 && there !== id) found.push(`answered 200 with ${id}, stored: ${there}`)
    if (status === 503 && there !== null) found.push(`answered 503, and accepted: ${there}`)
    if (status === 504 && there !== null && there !== id) found.push(`answered 504 with ${id}, stored: ${there}`)
    if (status === 504 && there !== null) acceptedUnknown++
    if (![200, 503, 504].includes(status ?? 0)) found.push(`answered ${status}`)
  }
  const { lost, strangers, unfinished, failed, faults } = stored
  const isWhole = lost + strangers + unfinished + failed + faults.length === 0
  return { answers, acceptedUnknown, lies: found, stored, clean: found.length === 0 && isWhole && (answers['200'] ?? 0) > 0 }
}

export const describeTroubleVerdict = ({ answers, acceptedUnknown, lies, stored, clean }: TroubleVerdict): string => `
drill       database-trouble: ${Object.keys(troubles).join(', ')}
answers     ${Object.entries(answers)
  .map(([status, count]) => `${status}: ${count}`)
  .join('   ')}
unknown     ${answers['504'] ?? 0} answered 504, ${acceptedUnknown} of them accepted after all
lies        ${lies.length === 0 ? 'none' : lies.slice(0, 20).join('\n            ')}
E stored    ${stored.stored}   lost ${stored.lost}   unfinished ${stored.unfinished}   failed ${stored.failed}
P carrier   strangers ${stored.strangers}   doubles ${stored.doubles}
faults      ${stored.faults.length === 0 ? 'none: chains whole, statuses rebuilt, dates in order' : stored.faults.slice(0, 20).join('\n            ')}
verdict     ${clean ? 'CLEAN' : 'NOT CLEAN'}
`
