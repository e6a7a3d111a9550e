import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/store/embedded/server.js'
import { openPool } from '../../src/store/postgres.js'
import { brokenChains } from '../support/chain.js'
import { dataFolder } from '../support/data-folder.js'
import { Program } from '../support/program.js'
import { seeded } from '../support/random.js'
import { send, validSend } from '../support/requests.js'

const CLIENTS = 64
const ROUNDS = 10

/**
 * 64 clients send without pause; at a random moment the processes die by kill -9 (all of them, or the api alone).
 * Whatever was answered 200 must be there afterwards, once, with its deliveries and its chain.
 */
test('kill -9 under load, ten times: every id that was answered is there, and every chain is whole', async () => {
  const data = dataFolder()
  const answered: string[] = []
  for (let seed = 1; seed <= ROUNDS; seed++) {
    const random = seeded(seed)
    const program = await Program.start({ data })
    let running = true
    const before = answered.length
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      for (let count = 0; running && count < 10_000; count++) {
        const body = { ...validSend, customID: `${seed}-${client}-${count}`, sms: { number: '11987654321', typeSend: '2' } }
        const answer = await send(program.url, program.token, body).catch(() => null)
        if (answer?.status === 200) answered.push((answer.body as { idEmail: string }).idEmail)
        else if (answer === null) await sleep(20)
      }
    })
    await expect.poll(() => answered.length - before, { timeout: 30_000, interval: 10 }).toBeGreaterThan(0)
    await sleep(200 + random() * 800)
    if (random() < 0.7) program.killAll()
    else for (const pid of program.children()) process.kill(pid, 'SIGKILL')
    running = false
    await Promise.all(clients)
    program.killAll()
    await program.ended()
  }

  const server = await openEmbedded(data, true)
  const pool = openPool({ url: server.url, size: 2, onError: () => {} })
  try {
    const { rows } = await pool.query<{ id: string; custom_id: string; channels: number }>(
      `select n.id, n.custom_id, (select count(*) from delivery d where d.notification_id = n.id)::int as channels from notification n`,
    )
    const stored = new Map(rows.map(row => [row.id, row]))
    expect(answered.filter(id => !stored.has(id))).toEqual([])
    expect(rows.filter(row => row.channels !== 2)).toEqual([])
    // One request, one notification: an unanswered one may be there, but never twice.
    expect(new Set(rows.map(row => row.custom_id)).size).toBe(rows.length)
    const { rows: events } = await pool.query<{ count: number }>('select count(*)::int from event where seq = 1')
    expect(events[0]!.count).toBe(rows.length)
    expect(await brokenChains(pool)).toEqual([])
    expect(answered.length).toBeGreaterThan(ROUNDS)
  } finally {
    await pool.end()
    await server.close()
  }
}, 300_000)
