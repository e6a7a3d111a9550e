import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { steps } from '../../src/evidence/verify/fault.js'
import { dataFolder } from '../support/database/data-folder.js'
import { writeDamage } from './damage.js'

/** npm run drill -- evidence: the bundles on which two verifiers are compared. */
test('whole bundles hold, damaged ones do not, and every check but those of signed files is reached', async () => {
  const folder = dataFolder()
  const verdicts = await writeDamage({ folder, good: 20, damaged: 400, seed: 1 })
  expect(readdirSync(folder)).toHaveLength(421)
  const entries = Object.entries(verdicts)
  for (const [name, { code, how }] of entries.filter(([name]) => name.startsWith('good')))
    expect([name, how, code]).toEqual([name, how, 0])
  // A file that was changed before it was signed may still be right: data that no later check looks at.
  for (const [name, { code, how }] of entries)
    if (name.startsWith('damaged') && !how.includes('signed')) expect([name, how, code]).not.toEqual([name, how, 0])
  const found = new Set(entries.map(([, { step }]) => step))
  for (const step of steps.slice(0, 7)) expect(found, step).toContain(step)
})
