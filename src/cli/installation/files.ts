import { Command, CommanderError, Option } from 'commander'
import { openFiles } from '../../app/database/database.js'
import { blobUses } from '../../channels/registry.js'
import { OperatorError } from '../../domain/errors.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { MIB } from '../../domain/units.js'
import { deleteLeftovers, isOld } from '../../store/files/leftovers.js'
import { countOutside, listOutside, moveBlobs, type Side, verifyOutside } from '../../store/files/move.js'
import {
  deleteOtherFolder,
  findOtherFolder,
  isOwnFolder,
  listOtherFolders,
  type OtherFolder,
} from '../../store/files/other-folders.js'
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
    'lê cada arquivo fora do banco e confere o hash; apaga sobras de mais de um dia e diz que pastas não são desta instalação. Sai com 1 se algo falta ou mudou',
  ).action((options: OutputOptions) => runForLong(options, pool => check(pool, options)))
  addVerb(files, 'move', 'leva gravações e cartas para FILES_URL ou de volta ao banco; pode ser interrompido e repetido')
    .addOption(
      new Option('--to <lado>', 'outside: para FILES_URL; database: para o banco')
        .choices(['outside', 'database'])
        .makeOptionMandatory(),
    )
    .action(({ to, ...options }: OutputOptions & { to: Side }) => runForLong(options, pool => move(pool, to, options)))
  addVerb(
    files,
    'drop',
    'apaga uma pasta de FILES_URL que não é desta instalação, como a de antes de uma restauração; sem --yes, só a mostra',
  )
    .argument('<pasta>', 'o nome, como files check o mostra')
    .option('--yes', 'apaga: não há volta')
    .action((folder: string, { yes = false, ...options }: OutputOptions & { yes?: boolean }) =>
      runForLong(options, pool => drop(pool, folder, yes)),
    )
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
  const others = filesOf(pool) === null ? [] : await listOtherFolders(pool)
  const otherFolders = options.json === true ? others : others.map(describeFolder)
  return { result: { files: whole, missing, damaged, leftovers: deleted, otherFolders }, faults: missing.length + damaged.length }
}

const describeFolder = ({ folder, files, size, newest }: OtherFolder): string =>
  `${folder} (${files} arquivos, ${(size / MIB).toFixed(1).replace('.', ',')} MiB, o mais novo de ${brazilianDate(newest)})`

const SHARED =
  'Nada foi apagado. Se outra instalação usa o mesmo FILES_URL, a pasta pode ser dela, e sem os arquivos as provas dela falham: confira. Para apagar, repita com --yes.'

const IN_USE =
  'Nada foi apagado: a pasta recebeu um arquivo há menos de um dia, e pode ser de uma restauração em andamento ou de outra instalação. Repita quando ela tiver mais de um dia'

async function drop(pool: Pool, folder: string, yes: boolean) {
  requireSetting(pool)
  if (await isOwnFolder(pool, folder))
    throw new OperatorError(`A pasta ${folder} é desta instalação: os arquivos dela estão em uso. Nada foi apagado.`)
  const found = await findOtherFolder(pool, folder)
  if (found === null)
    throw new OperatorError(`Não há em FILES_URL uma pasta ${folder} com arquivos. Veja as que há com: carteiro files check`)
  if (!yes) return { result: { ...found, next: SHARED }, faults: 0 }
  // A restore under way has a folder that no database knows yet.
  if (!isOld(found.newest))
    throw new OperatorError(`${IN_USE} (o arquivo mais novo da pasta ${folder} é de ${brazilianDate(found.newest)}).`)
  await deleteOtherFolder(pool, found)
  const { files, size } = found
  await transaction(pool, db => audit(db, 'files drop', folder, { files, bytes: size }))
  return { result: { deleted: folder, files, size }, faults: 0 }
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
