import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../domain/errors.js'
import { execute, type Queryable, queryValue } from '../postgres.js'

/**
 * A start, or a command, holds this lock together with others while it brings the schema up to date and claims the installation. A restore
 * holds it alone: what a node wrote into the empty schema of a restore would meet the rows of the backup.
 */
const LOCK = 7_261_005
/** A node that is started again and again is connected for a moment each time. One that runs stays connected. */
const WAIT_MS = 15_000
const TURN_MS = 100

/** Until the connection is closed. Refused while a restore is at work. */
export async function joinInstallation(db: Queryable): Promise<void> {
  if ((await queryValue<boolean>(db, 'select pg_try_advisory_lock_shared($1)', [LOCK])) === true) return
  throw new OperatorError(
    'Uma restauração (carteiro restore) está em andamento neste banco, e nada inicia nele até que ela termine. Espere por ela e repita.',
  )
}

/** Until releaseInstallation, or the end of the connection. Refused while nodes or commands use the database. */
export async function takeInstallation(db: Queryable, { waitMs = WAIT_MS } = {}): Promise<void> {
  const deadline = performance.now() + waitMs
  let isAlone = false
  for (;;) {
    isAlone ||= (await queryValue<boolean>(db, 'select pg_try_advisory_lock($1)', [LOCK])) === true
    if (isAlone && (await countConnected(db)) === 0) return
    if (performance.now() >= deadline) break
    await sleep(TURN_MS)
  }
  throw new OperatorError(await describeUsers(db))
}

export const releaseInstallation = (db: Queryable): Promise<void> => execute(db, 'select pg_advisory_unlock_all()')

/** Sessions of nodes and commands. The keeper of the embedded server is not one of them: its data folder has a lock of its own. */
const USERS = `from pg_stat_activity where datname = current_database() and application_name in ('carteiro', 'carteiro listener')
  and pid <> pg_backend_pid()`

async function countConnected(db: Queryable): Promise<number> {
  // Within a transaction the server would show the sessions of the first look again.
  await execute(db, 'select pg_stat_clear_snapshot()')
  return (await queryValue<number>(db, `select count(*) ${USERS}`)) ?? 0
}

async function describeUsers(db: Queryable): Promise<string> {
  const connected = await countConnected(db)
  const found =
    connected > 0
      ? `Há processos do Carteiro ligados a este banco (${connected} conexões)`
      : 'Outro comando do Carteiro prepara este banco'
  return `${found}, e nada é restaurado ao lado deles. Pare todos os nós e comandos que o usam (docs/operacao.md, "Cópia e restauração") e repita. Nada foi restaurado.`
}
