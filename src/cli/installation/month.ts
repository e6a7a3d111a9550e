import { rm } from 'node:fs/promises'
import { Command } from 'commander'
import { OperatorError } from '../../domain/errors.js'
import { checkArchive, type MonthArchive, writeMonth } from '../../evidence/archive/month-archive.js'
import { mayRewriteHistory } from '../../store/application-role.js'
import {
  type DroppedMonth,
  dropMonth,
  findObstacle,
  listDroppedMonths,
  listKeepers,
  listMonths,
  type MonthObstacle,
} from '../../store/evidence/dropped-months.js'
import { isLocked, type Pool, transaction } from '../../store/postgres.js'
import { audit, run, withLongTimeouts } from '../administration.js'
import { addVerb, required } from '../options.js'
import type { OutputOptions, Result } from '../output.js'

/** A statement may take three hours: a month may have millions of notifications. */
const TIMEOUT_FACTOR = 1_080

const obstacles: Record<MonthObstacle, string> = {
  missing: 'não está no banco',
  young: 'terminou há menos de um mês',
  older: 'há um mês mais antigo: retire-o antes',
  kept: 'há notificações com dados pessoais: o prazo delas (retention.events) não venceu, ou a entrega não terminou (carteiro queue)',
  held: 'há notificações sob guarda legal (carteiro legal-hold --list)',
  unlogged: 'há eventos fora do registro: inicie um worker e repita',
}

/** month: whole months leave the database once every term of theirs is over; the hashes of their events stay. */
export function monthCommand(): Command {
  const month = new Command('month').description(
    'meses inteiros: os que estão no banco, e a retirada dos vencidos para um arquivo',
  )
  addVerb(month, 'list', 'os meses que estão no banco e os que saíram').action((options: OutputOptions) =>
    runForLong(options, false, async pool => [await listAll(pool), 'Ainda não há meses.']),
  )
  addVerb(month, 'drop', 'grava um mês vencido num arquivo, confere-o e tira o mês do banco; os hashes ficam no registro')
    .argument('<mês>', 'como 2026-01', readMonth)
    .requiredOption('--out <arquivo>', 'onde gravar o arquivo do mês (.ndjson.gz)')
    .action((name: string, { out, ...options }: OutputOptions & { out: string }) =>
      runForLong(options, true, pool => drop(pool, name, out)),
    )
  addVerb(month, 'verify', 'confere o arquivo de um mês que saiu com o registro')
    .argument('<arquivo>')
    .action((file: string, options: OutputOptions) => runForLong(options, false, pool => verify(pool, file)))
  return month
}

const runForLong = (options: OutputOptions, asOwner: boolean, work: (pool: Pool) => Promise<Result>): Promise<void> =>
  run(options, ({ databaseUrl, ownerUrl }) =>
    withLongTimeouts({ url: asOwner ? ownerUrl : databaseUrl, asOwner, timeoutFactor: TIMEOUT_FACTOR }, work),
  )

const readMonth = (text: string): string =>
  required(/^20\d\d-(0[1-9]|1[0-2])$/.test(text) ? text : null, 'Informe o mês como 2026-01.')

async function listAll(pool: Pool) {
  const rows = (await listDroppedMonths(pool)).map(({ month, notifications, sha256 }) => ({
    ...{ month, state: 'fora do banco', notifications, reason: null as string | null, sha256: sha256 as string | null },
  }))
  for (const month of await listMonths(pool)) {
    const obstacle = await findObstacle(pool, month)
    const reason = obstacle === null ? null : await describeObstacle(pool, month, obstacle)
    rows.push({ month, state: obstacle === null ? 'pode sair' : 'no banco', notifications: 0, reason, sha256: null })
  }
  return rows.map(({ notifications, ...row }) => ({ ...row, notifications: row.sha256 === null ? null : notifications }))
}

/** One account without a term keeps all months from its first one on, so the accounts are named. */
async function describeObstacle(pool: Pool, month: string, obstacle: MonthObstacle): Promise<string> {
  const keepers = obstacle === 'kept' ? await listKeepers(pool, month) : []
  return keepers.length === 0 ? obstacles[obstacle] : `${obstacles[obstacle]}. Contas: ${keepers.join(', ')}`
}

const IN_USE = 'Outra sessão (carteiro backup? pg_dump?) usa as tabelas. Nada saiu: espere que ela termine e repita.'

async function drop(pool: Pool, month: string, out: string): Promise<Result> {
  if (!(await mayRewriteHistory(pool)))
    throw new OperatorError('Só o dono das tabelas tira um mês do banco. Informe a URL dele em DATABASE_OWNER_URL.')
  const obstacle = await findObstacle(pool, month)
  if (obstacle !== null)
    throw new OperatorError(`O mês ${month} não pode sair: ${await describeObstacle(pool, month, obstacle)}.`)
  await writeMonth(pool, month, out)
  try {
    return { file: out, ...(await dropArchived(pool, month, out)) }
  } catch (cause) {
    const refusal = isLocked(cause) ? new OperatorError(IN_USE, { cause }) : cause
    // After any other error, such as a connection lost at the commit, the month may be gone and the file its only copy.
    if (refusal instanceof OperatorError) await rm(out)
    throw refusal
  }
}

async function dropArchived(pool: Pool, month: string, file: string): Promise<MonthArchive> {
  const archive = await checkArchive(pool, file)
  await transaction(pool, async db => {
    await dropMonth(db, month, archive.sha256)
    await audit(db, 'month drop', month, { ...archive })
    const dropped = (await listDroppedMonths(db)).find(one => one.month === month)
    if (!isOf(archive, dropped)) throw new OperatorError(`O mês ${month} mudou enquanto era gravado. Nada saiu: repita.`)
  })
  return archive
}

const SEE_MONTHS = 'Veja os meses que saíram, com os hashes, com: carteiro month list'

const isOf = ({ notifications, events, sha256 }: MonthArchive, dropped: DroppedMonth | undefined): boolean =>
  dropped !== undefined && dropped.notifications === notifications && dropped.events === events && dropped.sha256 === sha256

async function verify(pool: Pool, file: string): Promise<Result> {
  const archive = await checkArchive(pool, file)
  const dropped = (await listDroppedMonths(pool)).find(({ month }) => month === archive.month)
  if (dropped === undefined) throw new OperatorError(`O mês ${archive.month} não saiu deste banco. ${SEE_MONTHS}`)
  if (!isOf(archive, dropped))
    throw new OperatorError(
      `O arquivo confere com o registro, mas não é o que foi gravado quando o mês ${archive.month} saiu: o hash é outro. ${SEE_MONTHS}`,
    )
  return { file, ...archive }
}
