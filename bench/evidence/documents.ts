import { buffer } from 'node:stream/consumers'
import { openEvidence } from '../../src/app/api/evidence-api.js'
import { readConfig } from '../../src/app/config.js'
import { openLog } from '../../src/app/log.js'
import { nodeTools } from '../../src/evidence/node-tools.js'
import { verifyFile } from '../../src/evidence/verify-file.js'
import { type Dossier, readDossier } from '../../src/store/evidence/dossier.js'
import { note, print, table } from '../support/report.js'
import type { Subject, Workspace } from '../support/workspace.js'

/** How many documents one core makes in a second, and how many it verifies: of notifications that were delivered before. */
const DOCUMENTS = 40

export async function measureDocuments(workspace: Workspace, { pool, account }: Subject): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    'select notification_id as id from delivery where sent_at is not null limit $1',
    [DOCUMENTS + 1],
  )
  const scope = { account, mode: 'live' } as const
  const dossiers = await Promise.all(rows.map(async ({ id }) => (await readDossier(pool, scope, id))!))
  const config = readConfig({ CARTEIRO_DATA: workspace.folder('documents') })
  const evidence = openEvidence({ config, keys: workspace.keys, pool, clock: Date.now, log: openLog('fatal', 'api') })
  const lines: string[][] = [['one after the other', 'a second and core', 'CPU ms each', 'kB each']]
  const measured = async (what: string, make: (dossier: Dossier) => Promise<Uint8Array>): Promise<Uint8Array[]> => {
    note(what)
    const [first, ...others] = dossiers
    // Threads start and fonts are read with the first.
    const made = [await make(first!)]
    const before = process.cpuUsage()
    for (const dossier of others) {
      workspace.signal.throwIfAborted()
      made.push(await make(dossier))
    }
    const { user, system } = process.cpuUsage(before)
    const ms = (user + system) / 1e3 / others.length
    const bytes = made.reduce((sum, { length }) => sum + length, 0) / made.length
    lines.push([what, (1000 / ms).toFixed(1), ms.toFixed(1), (bytes / 1e3).toFixed(1)])
    return made
  }
  await measured('sending proof, signed', async dossier => {
    const proof = await evidence.documents.sendingProof(dossier)
    if ('message' in proof) throw new Error(proof.message)
    return proof
  })
  const reports = await measured(
    'report, signed, with the evidence inside',
    async dossier => (await evidence.documents.report(dossier))!,
  )
  const bundles = await measured('bundle', async ({ id }) => buffer((await evidence.buildBundle(id))!.write()))
  for (const [what, files] of [['report verified', reports] as const, ['bundle verified', bundles] as const]) {
    const left = [...files]
    await measured(what, async () => {
      const file = left.shift()!
      if ((await verifyFile(file, { key: null }, nodeTools)) === null) throw new Error(`${what}: not readable`)
      return file
    })
  }
  await evidence.close()
  print(`\n${table(lines)}`)
}
