import { Command, CommanderError, Option } from 'commander'
import { openFiles } from '../../app/database/database.js'
import { blobUses } from '../../channels/registry.js'
import { OperatorError } from '../../domain/errors.js'
import { deleteLeftovers } from '../../store/files/leftovers.js'
import { countOutside, listOutside, moveBlobs, type Side, verifyOutside } from '../../store/files/move.js'
import { filesOf, type Pool, transaction } from '../../store/postgres.js'
import { audit, withDatabase, withLongTimeouts } from '../administration.js'
import { addVerb } from '../options.js'
import { type OutputOptions, printResult, type Result } from '../output.js'
import { showBytes } from '../progress.js'

/** Counts and walks take as long as there are files. */
const TIMEOUT_FACTOR = 360

/** files: the recordings and letters that FILES_URL keeps outside of the database. */
export function filesCommand(): Command {
  const files = new Command('files').description(
    'arquivos fora do banco (FILES_URL): confere-os, e leva gravações e cartas de um lado a outro',
  )
  addVerb(
    files,
    'check',
    'lê cada arquivo fora do banco e confere o hash; apaga sobras de mais de um dia. Sai com 1 se algo falta ou mudou',
  ).action((options: OutputOptions) => runForLong(options, pool => check(pool, options)))
  addVerb(files, 'move', 'leva gravações e cartas para FILES_URL ou de volta ao banco; pode ser interrompido e repetido')
    .addOption(
      new Option('--to <lado>', 'outside: para FILES_URL; database: para o banco')
        .choices(['outside', 'database'])
        .makeOptionMandatory(),
    )
    .action(({ to, ...options }: OutputOptions & { to: Side }) => runForLong(options, pool => move(pool, to, options)))
  return files
}

/** `faults`: they are told with the rest, and a monitor sees the exit code. */
const runForLong = (options: OutputOptions, work: (pool: Pool) => Promise<{ result: Result; faults: number }>): Promise<void> =>
  withDatabase(async ({ config, databaseUrl }) => {
    const pool = { url: databaseUrl, timeoutFactor: TIMEOUT_FACTOR, files: openFiles(config) }
    const { result, faults } = await withLongTimeouts(pool, work)
    printResult(result, options)
    if (faults > 0) throw new CommanderError(1, 'carteiro.files', `${faults}`)
  })

async function check(pool: Pool, options: OutputOptions) {
  const { count, bytes } = await countOutside(pool)
  if (count > 0) requireSetting(pool)
  const found = { whole: 0, missing: [] as string[], damaged: [] as string[] }
  const show = showBytes(options)
  let done = 0
  try {
    for await (const file of listOutside(pool)) {
      const state = await verifyOutside(pool, file)
      if (state === 'whole') found.whole++
      else if (state !== null) found[state].push(file.object!)
      done += file.size
      show(done, Math.max(done, bytes))
    }
  } finally {
    show(null)
  }
  const { deleted } = await deleteLeftovers(pool)
  const { whole, missing, damaged } = found
  return { result: { files: whole, missing, damaged, leftovers: deleted }, faults: missing.length + damaged.length }
}

async function move(pool: Pool, to: Side, options: OutputOptions) {
  requireSetting(pool)
  const show = showBytes(options)
  const { files, bytes, faults } = await moveBlobs(pool, to, blobUses, show).finally(() => show(null))
  const stays = faults.map(({ message }) => message)
  await transaction(pool, db => audit(db, 'files move', to, { files, bytes, stays: stays.length }))
  return { result: { files, size: bytes, stays }, faults: stays.length }
}

function requireSetting(pool: Pool): void {
  if (filesOf(pool) === null)
    throw new OperatorError('Defina FILES_URL com o lugar dos arquivos fora do banco, como file:///srv/carteiro/arquivos.')
}
