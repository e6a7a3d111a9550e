import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LogParts } from '../../src/evidence/log.js'
import { readLogProof } from '../../src/evidence/log-proof.js'
import { noteDigest, readNote } from '../../src/evidence/note.js'
import { verifyTimeStamp } from '../../src/evidence/signature/time-stamp.js'
import { readAuthorities } from '../../src/evidence/targets/settings.js'
import { targetChore } from '../../src/evidence/targets/target.js'
import { timeStampTarget } from '../../src/evidence/targets/time-stamps.js'
import { listTargets } from '../../src/store/evidence/checkpoint-targets.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { type Certification, createCertification } from '../support/evidence/certification.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { startTimeStampAuthority, type TimeStampAuthority } from '../support/evidence/time-stamp-authority.js'
import { needPrograms } from '../support/programs/needed-programs.js'

let database: TestDatabase
let certification: Certification
let authorities: TimeStampAuthority[]
let parts: LogParts

const isReady = needPrograms('openssl')
beforeAll(async () => {
  if (!isReady) return
  database = await createDatabase()
  parts = await logParts(database.pool)
  certification = createCertification()
  authorities = [await startTimeStampAuthority(certification), await startTimeStampAuthority(certification)]
})

afterAll(async () => {
  if (!isReady) return
  for (const authority of authorities) await authority.close()
  certification.remove()
  await database.drop()
})

const choreOf = (authority: TimeStampAuthority, options: string, failures: string[] = []) => {
  const [setting] = readAuthorities(`${authority.url}${options}`)!
  return targetChore(timeStampTarget(setting!, database.pool), {
    pool: database.pool,
    retryMs: [0],
    onFailure: (_, error) => failures.push(error.message),
  })
}

test('several authorities stamp the newest checkpoint; one that fails is asked again; none is asked twice in its interval', async () => {
  const id = await insertChain(database.pool, 3)
  await extendTo(parts, 3)
  const [first, second] = authorities as [TimeStampAuthority, TimeStampAuthority]
  const failures: string[] = []
  second.answer = (_, response) => response.writeHead(503).end()
  const chores = [choreOf(first, '#every=3600'), choreOf(second, '#every=3600', failures)]
  for (const chore of chores) await chore.run()
  expect(failures).toEqual([expect.stringMatching(/não carimbou: .*HTTP 503/)])
  expect((await listTargets(database.pool)).map(({ failures: count }) => count).sort()).toEqual([0, 1])

  second.answer = null
  for (const chore of chores) await chore.run()
  const { checkpoint } = (await readLogProof(database.pool, id))!
  expect(checkpoint.timeStamps.map(({ authority }) => authority).sort()).toEqual(authorities.map(({ url }) => url).sort())
  const digest = noteDigest(readNote(checkpoint.note)!.text)
  for (const { token, at } of checkpoint.timeStamps) {
    expect(verifyTimeStamp(token, digest)).toMatchObject({ valid: true, timeStamp: { at } })
  }

  await insertChain(database.pool, 2)
  await extendTo(parts, 5)
  for (const chore of chores) await chore.run()
  expect([first.queries.length, second.queries.length]).toEqual([1, 2])
})
