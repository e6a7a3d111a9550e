import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../../simulator/random.js'
import { openEmbedded } from '../../src/store/embedded/server.js'
import { openPool } from '../../src/store/postgres.js'
import { brokenChains } from '../support/evidence/chain.js'
import { send, validSend } from '../support/gateway/requests.js'
import { Program } from '../support/programs/carteiro-program.js'

export interface KillRounds {
  /** Data folder of the program. */
  data: string
  rounds: number
  clients: number
  seed: number
}

export interface KillRoundsVerdict {
  answered: number
  /** Answered 200, but not in the database. */
  lost: string[]
  /** Notifications without both of their deliveries. */
  incomplete: string[]
  /** Requests that became more than one notification. */
  doubled: number
  /** Notifications without their first event. */
  unrecorded: number
  brokenChains: Awaited<ReturnType<typeof brokenChains>>
}

const CHANNELS = 2
/** A round ends after at most so many answers; the seed says how many. */
const MOST_ANSWERS = 300

/**
 * Clients send without pause; after a random number of answers the processes die by kill -9 (all of them, or the api alone),
 * and the next round starts on the same data.
 */
export async function runKillRounds(options: KillRounds): Promise<KillRoundsVerdict> {
  const answered: string[] = []
  for (let round = 1; round <= options.rounds; round++) await killOnce(options, round, answered)
  return judge(options.data, answered)
}

async function killOnce({ data, clients, seed }: KillRounds, round: number, answered: string[]): Promise<void> {
  const random = seeded(seed + round)
  const program = await Program.start({ data })
  const enough = answered.length + 1 + Math.floor(random() * MOST_ANSWERS)
  let running = true
  const sending = Array.from({ length: clients }, async (_, client) => {
    for (let count = 0; running; count++) {
      const body = { ...validSend, customID: `${round}-${client}-${count}`, sms: { number: '11987654321', typeSend: '2' } }
      const answer = await send(program.url, program.token, body).catch(() => null)
      if (answer?.status === 200) answered.push((answer.body as { idEmail: string }).idEmail)
      else if (answer === null) await sleep(20)
    }
  })
  while (answered.length < enough) await sleep(1)
  if (random() < 0.7) program.killAll()
  else for (const pid of program.children()) process.kill(pid, 'SIGKILL')
  running = false
  await Promise.all(sending)
  program.killAll()
  await program.ended()
}

async function judge(data: string, answered: readonly string[]): Promise<KillRoundsVerdict> {
  const server = await openEmbedded(data, true)
  const pool = openPool({ url: server.url, size: 2, onError: () => {} })
  try {
    const { rows } = await pool.query<{ id: string; custom_id: string; channels: number }>(
      `select n.id, n.custom_id, (select count(*) from delivery d where d.notification_id = n.id)::int as channels from notification n`,
    )
    const { rows: events } = await pool.query<{ count: number }>('select count(*)::int from event where seq = 1')
    const stored = new Set(rows.map(({ id }) => id))
    return {
      answered: answered.length,
      lost: answered.filter(id => !stored.has(id)),
      incomplete: rows.filter(({ channels }) => channels !== CHANNELS).map(({ id }) => id),
      doubled: rows.length - new Set(rows.map(row => row.custom_id)).size,
      unrecorded: rows.length - events[0]!.count,
      brokenChains: await brokenChains(pool),
    }
  } finally {
    await pool.end()
    await server.close()
  }
}
