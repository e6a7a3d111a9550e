import { expect, test } from 'vitest'
import { describeFailoverVerdict, runFailoverDrill } from '../drills/failover.js'

/** `npm run drill -- failover` with more clients and sends. */
test('the primary is killed and its synchronous standby promoted: nothing that was answered is lost, no letter or call goes twice', async () => {
  const verdict = await runFailoverDrill({ clients: 2, count: 20, downMs: 3_000 })
  const told = describeFailoverVerdict(verdict)
  for (const channel of ['email', 'voice', 'letter'])
    expect(verdict.channels[channel], told).toMatchObject({ lost: 0, strangers: 0, unfinished: 0, failed: 0, faults: [] })
  expect([verdict.channels.voice!.doubles, verdict.channels.letter!.doubles], told).toEqual([0, 0])
  expect(verdict.strayed, told).toBe(0)
  expect(verdict.clean, told).toBe(true)
  expect(verdict.statuses['500'], told).toBeUndefined()
  expect(verdict.warning, told).toBeNull()
  // Two outages, of which each process says when they begin and end: the failover, and the crash of the new primary, which may be
  // over before a process needs a connection.
  const isOutage = (line: string): boolean => /^the database is (lost|back)/.test(line)
  for (const lines of Object.values(verdict.lines)) {
    const outages = lines.filter(isOutage).map(line => line.slice(16, 20))
    expect([2, 4], told).toContain(outages.length)
    expect(outages, told).toEqual(['lost', 'back', 'lost', 'back'].slice(0, outages.length))
    // Sends and attempts whose outcome is unknown are told one by one. Without the two lines there were hundreds of others.
    const ofOutage = lines.filter(line => !isOutage(line) && !['request refused', 'an attempt failed'].includes(line))
    expect(ofOutage.length, told).toBeLessThan(10)
  }
})

test('with an asynchronous standby that lags, answered sends are lost, and every start warns of it', async () => {
  const verdict = await runFailoverDrill({ clients: 2, count: 10, downMs: 1_000, synchronous: false })
  expect(verdict.warning).toContain('assíncrona')
  expect(verdict.channels.email!.lost).toBeGreaterThan(0)
})
