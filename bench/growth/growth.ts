import type { ChildProcess } from 'node:child_process'
import { signIn } from '../support/console-client.js'
import { machine, note, percentile, print, table } from '../support/report.js'
import { answerOf, type Server, type Subject, type Workspace, withWorkspace } from '../support/workspace.js'
import { GrowingStore, type GrowthShape } from './fill.js'
import type { Turn } from './process.js'
import { CLAIMED, type GrowthTask, KINDS_OF_WORK, LOOKUPS } from './work.js'

export interface GrowthOptions {
  stored: number[]
  months: number[]
  accounts: number[]
  processes: number[]
  /** Of each kind of work. */
  turns: number
}

const EMPTY = { stored: 1_000, months: 1, accounts: 10 }
const MOST = 1.2
/** Long enough for what the work reads again and again to be in the processor's caches. */
const TURN_MS = 500
/**
 * The share of the fastest that is compared. Neighbours slow a shared machine down to a third for tenths of a second: where that comes and
 * goes, medians of the same store differ by half, and those of the fastest tenth by a twentieth.
 */
const UNDISTURBED = 0.1
/** What is above the target is measured in this many times the turns at most, and all of them count: a neighbour may take a whole one. */
const LONGER = 4
/** Statements are planned in it. */
const WARM_UP_MS = 300
/** Of an api: one that answers, one for what it does beside that. */
const POOL = 2

/**
 * What each kind of work takes on stores of growing age: the same work on an empty one, in turns with it, is the measure. Several processes
 * work on the store at the same time, each on the parts of an api and of a worker.
 */
export const benchGrowth = (options: GrowthOptions): Promise<void> => withWorkspace(workspace => measure(workspace, options))

async function measure(workspace: Workspace, options: GrowthOptions): Promise<void> {
  const { stored, months, accounts, processes, turns } = options
  const rows = [
    [
      'stored',
      'months',
      'accounts',
      'processes',
      'accept',
      'lookup',
      'claim',
      'claim of nothing',
      'page, its statement',
      'page',
      'page of all accounts',
    ],
  ]
  const create = async (name: string, shape: GrowthShape): Promise<MeasuredStore> => {
    const subject = await workspace.createSubject(name)
    return { subject, store: await GrowingStore.create(subject, shape) }
  }
  const empty = await create('growth-empty', EMPTY)
  await empty.store.grow(EMPTY.stored, workspace.signal, note)
  const { rows: memory } = await empty.subject.pool.query<{ status: string }>(
    "select current_setting('huge_pages_status') as status",
  )
  let isMet = true
  const shapes = months.flatMap(span => accounts.map(count => ({ months: span, accounts: count })))
  for (const shape of shapes) {
    const grown = await create('growth', shape)
    for (const count of stored.toSorted((a, b) => a - b)) {
      await grown.store.grow(count, workspace.signal, note)
      for (const at of processes) {
        const cells = await compare(workspace, empty, grown, at, turns)
        rows.push([
          ...[count, shape.months, shape.accounts, at].map(String),
          ...cells.map(({ ms, ratio, ofMedians }) => `${ms.toFixed(2)} (${ratio.toFixed(2)}; ${ofMedians.toFixed(2)})`),
        ])
        note(rows.at(-1)!.join('  '))
        isMet &&= cells.every(({ ratio }) => ratio <= MOST)
      }
    }
    await workspace.dropSubject(grown.subject)
  }
  print(
    `\n${machine()}, huge pages ${memory[0]!.status}; the fastest tenth in ${turns} × ${TURN_MS} ms of each process, and in up to ${LONGER} times as much where that is above the target; milliseconds (ratio to an empty store, in turns with it; ratio of the medians): a send, ${LOOKUPS} lookups of a month and a claim of ${CLAIMED}, each its statements; a page of the console, as its statement and as a browser asks an api for it\n\n`,
  )
  print(table(rows))
  print(`\n${isMet ? 'PASS' : 'above target'}  each at most ${MOST} × of the empty store\n`)
}

interface MeasuredStore {
  subject: Subject
  store: GrowingStore
  /** Of a session of its console, once one was begun. */
  cookie?: string
}

interface Cell {
  ms: number
  ratio: number
  ofMedians: number
}

/** For each kind of work, what it takes on the grown store, and the ratio to the empty one. */
async function compare(
  workspace: Workspace,
  empty: MeasuredStore,
  grown: MeasuredStore,
  processes: number,
  turns: number,
): Promise<Cell[]> {
  const ofEmpty = await Crew.start(workspace, empty, processes)
  const ofGrown = await Crew.start(workspace, grown, processes)
  const cells: Cell[] = []
  for (const kind of KINDS_OF_WORK) {
    for (const crew of [ofEmpty, ofGrown]) await crew.take({ kind, forMs: WARM_UP_MS })
    const [of, taken]: [number[], number[]] = [[], []]
    const ratioAt = (share: number): number => percentile(taken, share) / percentile(of, share)
    for (let turn = 0; turn < turns || (turn < turns * LONGER && ratioAt(UNDISTURBED) > MOST); turn++) {
      of.push(...(await ofEmpty.take({ kind, forMs: TURN_MS })))
      taken.push(...(await ofGrown.take({ kind, forMs: TURN_MS })))
    }
    cells.push({ ms: percentile(taken, UNDISTURBED), ratio: ratioAt(UNDISTURBED), ofMedians: ratioAt(0.5) })
  }
  await ofEmpty.stop()
  await ofGrown.stop()
  return cells
}

/** The processes that work on one store at the same time. */
class Crew {
  readonly #apis: readonly Server[]
  readonly #processes: readonly ChildProcess[]

  private constructor(apis: readonly Server[], processes: readonly ChildProcess[]) {
    this.#apis = apis
    this.#processes = processes
  }

  static async start(workspace: Workspace, measured: MeasuredStore, processes: number): Promise<Crew> {
    const { subject, store } = measured
    const apis = await Promise.all(Array.from({ length: processes }, () => workspace.startServer(subject, [], POOL)))
    measured.cookie ??= await signIn(subject, apis[0]!.address, 'operadora', null)
    const { cookie } = measured
    const children = Array.from({ length: processes }, () => workspace.fork('growth/process', [], {}))
    await Promise.all(children.map(answerOf))
    for (const [index, child] of children.entries()) {
      const { address } = apis[index]!
      child.send({ url: subject.url, address, cookie, accounts: store.accounts, stored: store.stored } satisfies GrowthTask)
    }
    await Promise.all(children.map(answerOf))
    return new Crew(apis, children)
  }

  /** What each piece of work took in all processes. */
  async take(turn: Turn): Promise<number[]> {
    for (const child of this.#processes) child.send(turn)
    return (await Promise.all(this.#processes.map(child => answerOf<number[]>(child)))).flat()
  }

  async stop(): Promise<void> {
    for (const child of this.#processes) child.disconnect()
    await Promise.all(this.#apis.map(api => api.stop()))
  }
}
