import { machine, median, note, print, table } from '../support/report.js'
import { answerOf, type Subject, type Workspace, withWorkspace } from '../support/workspace.js'
import { GrowingStore, type GrowthShape } from './fill.js'
import { CLAIMED, type GrowthTask, LOOKUPS, type Measured } from './work.js'

export interface GrowthOptions {
  stored: number[]
  months: number[]
  accounts: number[]
  processes: number[]
  /** Of each kind of work, in each round. */
  seconds: number
  rounds: number
}

const EMPTY = { stored: 1_000, months: 1, accounts: 10 }
const MOST = 1.2
const KINDS = ['accept', 'lookup', 'claim', 'idle', 'list'] as const

/**
 * What each kind of work takes on stores of growing age: the same work on an empty one is the measure. Several processes work on the store
 * at the same time, each on the parts of an api and of a worker.
 */
export const benchGrowth = (options: GrowthOptions): Promise<void> => withWorkspace(workspace => measure(workspace, options))

async function measure(workspace: Workspace, options: GrowthOptions): Promise<void> {
  const { stored, months, accounts, processes, seconds, rounds } = options
  const rows = [['stored', 'months', 'accounts', 'processes', 'accept', 'lookup', 'claim', 'claim of nothing', 'console list']]
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
        const taken: { of: Measured; measured: Measured }[] = []
        // In turns: what slows the machine down for a while slows both.
        for (let round = 0; round < rounds; round++)
          taken.push({ of: await work(workspace, empty, at, seconds), measured: await work(workspace, grown, at, seconds) })
        const cells = KINDS.map(kind => ({
          ms: median(taken.map(({ measured }) => measured[kind])),
          ratio: median(taken.map(({ of, measured }) => measured[kind] / of[kind])),
        }))
        rows.push([
          ...[count, shape.months, shape.accounts, at].map(String),
          ...cells.map(({ ms, ratio }) => `${ms.toFixed(2)} (${ratio.toFixed(2)})`),
        ])
        note(rows.at(-1)!.join('  '))
        isMet &&= cells.every(({ ratio }) => ratio <= MOST)
      }
    }
    await workspace.dropSubject(grown.subject)
  }
  print(
    `\n${machine()}, huge pages ${memory[0]!.status}; medians of ${rounds} × ${seconds} s in each process; milliseconds of one statement (ratio to an empty store, in turns with it): a send, ${LOOKUPS} lookups of a month, a claim of ${CLAIMED}, a page\n\n`,
  )
  print(table(rows))
  print(`\n${isMet ? 'PASS' : 'above target'}  each at most ${MOST} × of the empty store\n`)
}

interface MeasuredStore {
  subject: Subject
  store: GrowingStore
}

/** The mean of the times of processes that work together. */
async function work(
  workspace: Workspace,
  { subject, store }: MeasuredStore,
  processes: number,
  seconds: number,
): Promise<Measured> {
  const task: GrowthTask = { url: subject.url, accounts: store.accounts, stored: store.stored, forMs: seconds * 1_000 }
  const children = Array.from({ length: processes }, () => workspace.fork('growth/process', [], {}))
  await Promise.all(children.map(answerOf))
  for (const child of children) child.send(task)
  const measured = await Promise.all(children.map(child => answerOf<Measured>(child)))
  const mean = (kind: keyof Measured): number => measured.reduce((sum, of) => sum + of[kind], 0) / processes
  return Object.fromEntries(KINDS.map(kind => [kind, mean(kind)])) as Measured
}
