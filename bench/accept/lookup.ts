import { CONNECTIONS, fullLoad } from '../support/load.js'
import { machine, median, note, print, ratioOf, verdict } from '../support/report.js'
import { type Subject, type Workspace, withWorkspace } from '../support/workspace.js'
import { fill } from './fill.js'

export interface LookupOptions {
  seconds: number
  rounds: number
  stored: number
}

interface Contestant {
  name: string
  subject: Subject
  paths: string[]
  args: string[]
  rates: number[]
}

const WARM_UP_SECONDS = 2
const POOL = 10
const FEW = 1_000
/** Different notifications asked for. */
const ASKED = 20_000

/** How fast statuses are looked up, against the same server answering a constant: on a small store and on a full one. */
export const benchLookup = (options: LookupOptions): Promise<void> => withWorkspace(workspace => compare(workspace, options))

async function compare(workspace: Workspace, { seconds, rounds, stored }: LookupOptions): Promise<void> {
  const small = await filled(workspace, 'small', FEW)
  const contestants: Contestant[] = [
    { name: 'limit: a constant', subject: small, paths: await pathsOf(small), args: ['--constant'], rates: [] },
    { name: `ours, ${FEW} stored`, subject: small, paths: await pathsOf(small), args: [], rates: [] },
  ]
  if (stored > 0) {
    const full = await filled(workspace, 'full', stored)
    contestants.push({ name: `ours, ${stored} stored`, subject: full, paths: await pathsOf(full), args: [], rates: [] })
  }
  for (let round = 1; round <= rounds; round++) {
    for (const one of contestants)
      note(`round ${round} of ${rounds}, ${one.name}: ${Math.round(await measure(workspace, one, seconds))} a second`)
  }
  print(`\n${machine()}; GET /gw/email/{idEmail} at random; ${CONNECTIONS} connections; median of ${rounds} × ${seconds} s\n\n`)
  for (const { name, rates } of contestants) print(`${name.padEnd(24)}${median(rates).toFixed(0).padStart(8)} lookups/s\n`)
  print('\n')
  const [limit, ...ours] = contestants
  for (const one of ours) verdict(`${one.name} / limit`, ratioOf(one.rates, limit!.rates), 'at least', 0.8)
}

async function filled(workspace: Workspace, name: string, count: number): Promise<Subject> {
  const subject = await workspace.createSubject(name)
  await fill(subject, count, '<p>Seu contrato vence em 30 dias.</p>', workspace.signal, stored =>
    note(`stored ${stored} of ${count}`),
  )
  return subject
}

async function pathsOf({ pool }: Subject): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>('select id from notification order by random() limit $1', [ASKED])
  return rows.map(row => `/gw/email/${row.id}`)
}

async function measure(workspace: Workspace, one: Contestant, seconds: number): Promise<number> {
  const server = await workspace.startServer(one.subject, one.args, POOL)
  const target = {
    address: server.address,
    method: 'GET' as const,
    path: one.paths[0]!,
    paths: one.paths,
    headers: { authorization: one.subject.token },
    body: '',
  }
  await fullLoad(workspace, target, WARM_UP_SECONDS)
  const { perSecond } = await fullLoad(workspace, target, seconds)
  one.rates.push(perSecond)
  await server.stop()
  return perSecond
}
