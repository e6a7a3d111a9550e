import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type ChainedEvent, chainEvent, GENESIS } from '../../src/domain/evidence/evidence.js'
import { extendLog, type LogParts } from '../../src/evidence/log.js'
import { auditLog } from '../../src/evidence/log-audit.js'
import { checkpointText, makeVerifier, signNote } from '../../src/evidence/note.js'
import { GrowingTree } from '../../src/evidence/tree.js'
import { listCheckpoints } from '../../src/store/evidence/checkpoints.js'
import type { Queryable } from '../../src/store/postgres.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { extendTo, insertChain, logParts } from '../support/evidence/log.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, type Gateway, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'

/** The rewritings of history that an administrator of the database can do, each against checkpoints that left the host. */
let database: TestDatabase
let gateway: Gateway
let account: TestAccount
let parts: LogParts
let folder: string

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool)
  folder = mkdtempSync(join(tmpdir(), 'carteiro-audit-'))
})

afterAll(async () => {
  rmSync(folder, { recursive: true })
  await gateway.close()
  await database.drop()
})

/** Five notifications of two events; a checkpoint after each. */
let ids: string[]

beforeEach(async () => {
  await database.tamper(
    `truncate event, notification, attachment, delivery, log_leaf, log_node, checkpoint, checkpoint_cosignature, checkpoint_time_stamp cascade;
     delete from log_key;
     update log_head set size = 0, peaks = '', transaction_id = null, notification_id = null, seq = null, server = null`,
  )
  parts = await logParts(database.pool)
  ids = []
  for (let index = 0; index < 5; index++) {
    const { body } = await send(gateway.url, account.token, validSend)
    const { idEmail } = body as { idEmail: string }
    ids.push(idEmail)
    await happen(database.pool, idEmail, 'email', 'processed')
    await extendTo(parts, await countEvents())
  }
})

const countEvents = async (): Promise<number> => (await database.pool.query('select from event')).rowCount!

/** The checkpoints so far, in a file, as they left the host. */
async function exportCheckpoints(): Promise<string> {
  const file = join(folder, `${Math.random()}.txt`)
  const notes = (await listCheckpoints(database.pool, 0, 100)).map(({ note }) => `${note}\n`)
  writeFileSync(file, notes.join(''))
  return file
}

async function audit(...args: string[]): Promise<{ status: number; faults: string[]; stdout: string }> {
  // A command sets the exit code of its process, which is the one of the tests.
  const before = process.exitCode
  const { status, stdout, stderr } = await runCommand(['audit', '--json', ...args], database.url)
  const code = process.exitCode
  process.exitCode = before
  expect(stderr).toBe('')
  const { faults } = JSON.parse(stdout) as { faults: string[] }
  return { status: status === 0 && code !== undefined ? Number(code) : status, faults, stdout }
}

/** Writes other data into an event and makes its chain whole again. */
async function forge(id: string, seq: number): Promise<void> {
  const { rows } = await database.pool.query<Omit<ChainedEvent, 'salt'> & { salt: Buffer; at: string }>(
    `select notification_id as notification, seq, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, type, source, data, salt
     from event where notification_id = $1 order by seq`,
    [id],
  )
  let prev = GENESIS
  for (const row of rows) {
    const data = row.seq === seq ? { ...(row.data as object), forged: true } : row.data
    const event = chainEvent({ ...row, data, prev })
    prev = event.hash
    await database.tamper(
      'update event set data = $3, commit = $4, prev = $5, hash = $6 where notification_id = $1 and seq = $2',
      [
        id,
        event.seq,
        JSON.stringify(event.data),
        ...[event.commit, event.prev, event.hash].map(text => Buffer.from(text, 'hex')),
      ],
    )
  }
}

const remove = async (id: string): Promise<void> => {
  for (const table of ['event', 'delivery', 'attachment']) {
    await database.tamper(`delete from ${table} where notification_id = $1`, [id])
  }
  await database.tamper('delete from notification where id = $1', [id])
}

/** Makes the log anew from the events as they are now, with checkpoints at the old times that the log's own key signs. */
async function rewriteLog(): Promise<void> {
  const old = await listCheckpoints(database.pool, 0, 100)
  await database.tamper(
    `truncate log_leaf, log_node, checkpoint, checkpoint_cosignature, checkpoint_time_stamp;
     insert into log_leaf select row_number() over (order by transaction_id, notification_id, seq) - 1, notification_id, seq, hash from event`,
  )
  const { rows } = await database.pool.query<{ hash: Buffer }>('select hash from log_leaf order by leaf')
  const tree = new GrowingTree()
  for (const { hash } of rows) {
    tree.append(hash)
    const checkpoint = old.find(({ size }) => size === tree.size)
    if (checkpoint === undefined) continue
    const { origin, privateKey } = parts.key
    const note = signNote(checkpointText(origin, tree.size, tree.root(), checkpoint.at), origin, privateKey)
    await database.tamper('insert into checkpoint (size, root, note, at) values ($1, $2, $3, $4)', [
      tree.size,
      tree.root(),
      note,
      checkpoint.at,
    ])
  }
  await database.tamper(
    `update log_head set size = $1, peaks = $2, (transaction_id, notification_id, seq) =
       (select transaction_id, notification_id, seq from event order by 1 desc, 2 desc, 3 desc limit 1)`,
    [tree.size, Buffer.concat(tree.peaks)],
  )
}

test('an untouched history agrees with its checkpoints, also after personal data was erased', async () => {
  const file = await exportCheckpoints()
  expect(await audit('--checkpoint', file, '--key', parts.key.vkey)).toMatchObject({ status: 0, faults: [] })
  await database.tamper('update event set data = null, salt = null where notification_id = $1', [ids[2]])
  expect(await audit('--checkpoint', file)).toMatchObject({ status: 0, faults: [] })
  expect(JSON.parse((await audit('--checkpoint', file)).stdout)).toMatchObject({ checked: 5, log: { size: 10, compared: 5 } })
})

test('what is appended and signed while the audit runs is no difference', async () => {
  let isMoved = false
  const db: Queryable = {
    async query(asked: never, values: never) {
      const result = await database.pool.query(asked, values)
      if ((asked as { name?: string }).name === 'read-audited-leaves' && !isMoved) {
        isMoved = true
        await insertChain(database.pool, 3)
        await extendTo(parts, 13)
      }
      return result as never
    },
  }
  expect(await auditLog(db, { files: [], key: null })).toMatchObject({ size: 10, faults: [], key: parts.key.vkey })
  expect(isMoved).toBe(true)
})

describe('without touching the log', () => {
  test('a changed event is named', async () => {
    await database.tamper(`update event set data = '{}' where notification_id = $1 and seq = 2`, [ids[1]])
    const { status, faults } = await audit()
    expect([status, faults[0]]).toEqual([1, `${ids[1]}: cadeia rompida no evento 2 (data)`])
  })

  test('a forged event with recomputed hashes is named: the log has another hash', async () => {
    await forge(ids[1]!, 1)
    const { status, faults } = await audit()
    expect(status).toBe(1)
    expect(faults[0]).toMatch(new RegExp(`^o evento 1 da notificação ${ids[1]} foi alterado: .*folha 2`))
  })

  test('a cut tail and a deleted notification are named', async () => {
    await database.tamper('delete from event where notification_id = $1 and seq = 2', [ids[3]])
    await remove(ids[1]!)
    const { status, faults } = await audit()
    expect(status).toBe(1)
    const log = faults.filter(fault => fault.includes('apagado'))
    expect(log).toEqual([
      expect.stringContaining(`evento 1 da notificação ${ids[1]} está no registro (folha 2)`),
      expect.stringContaining(`evento 2 da notificação ${ids[1]}`),
      expect.stringContaining(`evento 2 da notificação ${ids[3]}`),
    ])
  })

  test('an event that was slipped in and is not in the log is named', async () => {
    await database.tamper(
      `insert into event (notification_id, seq, at, type, source, data, salt, commit, prev, hash, transaction_id)
       select notification_id, 3, now() - interval '2 minutes', 'note', 'test', data, salt, commit, prev, hash, '5' from event where notification_id = $1 and seq = 2`,
      [ids[0]],
    )
    expect((await audit()).faults).toContainEqual(expect.stringContaining(`${ids[0]}: o evento 3 não está no registro`))
  })
})

describe('by an administrator who rewrites the log and its checkpoints as well', () => {
  /** Nothing in the database differs, so that only the exported checkpoint tells. */
  async function expectUnseen(): Promise<void> {
    await rewriteLog()
    expect(await audit()).toMatchObject({ status: 0, faults: [] })
  }

  test('a forged event lies between the last checkpoint that fits and the first that does not', async () => {
    const file = await exportCheckpoints()
    await forge(ids[2]!, 1)
    await expectUnseen()
    const { status, faults } = await audit('--checkpoint', file)
    expect(status).toBe(1)
    expect(faults).toEqual([
      expect.stringMatching(
        new RegExp(
          `de 6 eventos, não confere: a história foi reescrita entre a folha 4 \\(evento 1 da notificação ${ids[2]}\\) e a folha 5 .*até a folha 3 tudo confere`,
        ),
      ),
    ])
  })

  test('a deleted notification: the checkpoints after it do not fit', async () => {
    const file = await exportCheckpoints()
    await remove(ids[1]!)
    await expectUnseen()
    const { faults } = await audit('--checkpoint', file)
    expect(faults).toEqual([expect.stringMatching(/de 4 eventos, não confere: .* entre a folha 2 .*até a folha 1 tudo confere/)])
  })

  test('a cut tail: a checkpoint is of more events than there are', async () => {
    const file = await exportCheckpoints()
    await remove(ids[4]!)
    await expectUnseen()
    const { faults } = await audit('--checkpoint', file)
    expect(faults).toEqual([
      expect.stringMatching(/é de 10 eventos e o registro só tem 8: o fim da história foi cortado.*até a folha 7/),
    ])
  })

  test('a restored old backup, also when new events have come since', async () => {
    const backup = await databaseCopy()
    const { body } = await send(gateway.url, account.token, validSend)
    await happen(database.pool, (body as { idEmail: string }).idEmail, 'email', 'processed')
    await extendTo(parts, 12)
    const file = await exportCheckpoints()
    await backup.restore()
    expect((await audit()).faults).toEqual([])
    expect((await audit('--checkpoint', file)).faults).toEqual([
      expect.stringMatching(/é de 12 eventos e o registro só tem 10.*cópia antiga/),
    ])
    for (let index = 0; index < 2; index++) await send(gateway.url, account.token, validSend)
    await extendTo(parts, 12)
    expect((await audit('--checkpoint', file)).faults).toEqual([
      expect.stringMatching(/de 12 eventos, não confere: .*entre a folha 10 .*até a folha 9 tudo confere/),
    ])
  })

  test('another key is found by the key that was noted, and by the signatures of the checkpoints', async () => {
    const file = await exportCheckpoints()
    await database.tamper('delete from log_key')
    const other = await logParts(database.pool)
    await extendLog(other)
    const { faults } = await audit('--checkpoint', file)
    expect(faults[0]).toMatch(/outro registro/)
    expect((await audit('--checkpoint', file, '--key', parts.key.vkey)).faults).toEqual([expect.stringMatching(/foi trocada/)])
  })

  /** What a backup has: the tables as they were. */
  async function databaseCopy() {
    const tables = ['event', 'notification', 'delivery', 'log_leaf', 'log_node', 'log_head', 'checkpoint']
    for (const table of tables) await database.tamper(`create table copy_${table} as table ${table}`)
    onTestFinished(async () => {
      for (const table of tables) await database.tamper(`drop table copy_${table}`)
    })
    return {
      async restore(): Promise<void> {
        await database.tamper(
          'truncate event, notification, attachment, delivery, log_leaf, log_node, log_head, checkpoint cascade',
        )
        for (const table of tables) await database.tamper(`insert into ${table} select * from copy_${table}`)
      },
    }
  }
})

describe('an archive', () => {
  test('whose note was changed, or signed by somebody else, is a difference', async () => {
    const file = await exportCheckpoints()
    const newest = (await listCheckpoints(database.pool, 8, 1))[0]!
    writeFileSync(file, newest.note.replace('\n10\n', '\n11\n'))
    expect((await audit('--checkpoint', file)).faults).toEqual([
      expect.stringMatching(/assinatura do checkpoint de 11 eventos não confere/),
    ])
    writeFileSync(file, 'bom dia\n')
    expect((await audit('--checkpoint', file)).faults).toEqual([expect.stringMatching(/não há nenhum checkpoint no arquivo/)])
  })

  test('a file that is missing and a key that is none are refused with their names', async () => {
    const missing = await runCommand(['audit', '--checkpoint', '/nonexistent'], database.url)
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining('/nonexistent')])
    const witness = makeVerifier('w', generateKeyPairSync('ed25519').publicKey, 'witness').vkey
    const bad = await runCommand(['audit', '--key', witness], database.url)
    expect([bad.status, bad.stderr]).toEqual([1, expect.stringContaining('--key')])
  })
})

test('a leaf that is missing and a node that was changed are named', async () => {
  await insertChain(database.pool, 256)
  await extendTo(parts, 266)
  expect(await audit()).toMatchObject({ status: 0 })
  await database.tamper("update log_node set hash = sha256('')")
  expect((await audit()).faults).toEqual([expect.stringMatching(/o nó 0 de altura 8 do registro \(log_node\)/)])
  await database.tamper('delete from log_leaf where leaf = 3')
  expect((await audit()).faults).toContainEqual(expect.stringMatching(/falta a folha 3 do registro, que tem 266/))
})
