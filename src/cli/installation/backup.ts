import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command, CommanderError } from 'commander'
import { actor } from '../../app/actor.js'
import { makeBackup } from '../../app/backup/backup.js'
import { checkBackup, restoreBackup } from '../../app/backup/restore.js'
import { settleRestore } from '../../app/backup/settle.js'
import { type Config, readConfig } from '../../app/config.js'
import {
  migrateOnly,
  openDatabase,
  openFiles,
  openRolePool,
  prepareDatabase,
  refuseSharedSessions,
} from '../../app/database/database.js'
import { MEMORY_FILE } from '../../app/database/database-memory.js'
import { keepMasterKey, loadKeys, refuseOtherMasterKey } from '../../app/database/keys.js'
import { openLog } from '../../app/log.js'
import { OperatorError } from '../../domain/errors.js'
import { databaseClock } from '../../store/installation.js'
import { transaction } from '../../store/postgres.js'
import { audit, withDatabase } from '../administration.js'
import { type OutputOptions, printResult } from '../output.js'
import { showBytes } from '../progress.js'
import { countHeld } from './restored.js'

type BackupOptions = OutputOptions & { passphraseFile?: string; check?: boolean }

const MIN_PASSPHRASE = 12

const addOptions = (command: Command): Command =>
  command
    .option('--passphrase-file <arquivo>', 'arquivo com a senha na primeira linha (padrão: CARTEIRO_BACKUP_PASSPHRASE)')
    .option('--json', 'resultado em JSON')

/** backup: everything that an empty machine needs, in one file. */
export const backupCommand = (): Command =>
  addOptions(new Command('backup'))
    .description('grava uma cópia cifrada do banco, dos arquivos de FILES_URL e da chave mestra, com o serviço no ar ou parado')
    .argument('<arquivo>', 'onde gravar; só aparece quando está inteiro (sem algum arquivo de FILES_URL, com .incompleta no fim)')
    .action((file: string, options: BackupOptions) => {
      const passphrase = readPassphrase(readConfig(process.env), options)
      return withDatabase(async ({ keys, pool, databaseUrl }) => {
        const onProgress = showBytes(options)
        const report = await makeBackup({ databaseUrl, pool, keys, passphrase, file, onProgress }).finally(() => onProgress(null))
        const { filesMissing, ...rest } = report
        await transaction(pool, db => audit(db, 'backup', report.file, { ...rest, filesMissing: filesMissing.length }))
        printResult(filesMissing.length === 0 ? rest : { ...rest, filesMissing }, options)
        if (filesMissing.length > 0) process.stderr.write(incomplete(file, report.file))
        // The backup is whole but for them: a monitor must see it.
        if (filesMissing.length > 0) throw new CommanderError(1, 'carteiro.backup', `${filesMissing.length}`)
      })
    })

const incomplete = (asked: string, file: string): string =>
  `Faltam arquivos de FILES_URL, e por isso a cópia é ${file}: ${asked} não foi tocado. Ela restaura tudo o mais. Veja o que falta com: carteiro files check\n`

export const restoreCommand = (): Command =>
  addOptions(new Command('restore'))
    .description(
      'restaura uma cópia num banco vazio; o que ela tinha por enviar fica retido até uma pessoa soltar (carteiro restored)',
    )
    .argument('<arquivo>', 'feito por carteiro backup')
    .option('--check', 'só confere que o arquivo abre e está inteiro')
    .action((file: string, options: BackupOptions) => {
      const config = readConfig(process.env)
      const passphrase = readPassphrase(config, options)
      return options.check === true ? check(file, passphrase, options) : restore(config, file, passphrase, options)
    })

async function check(file: string, passphrase: string, options: BackupOptions): Promise<void> {
  const onProgress = showBytes(options)
  const report = await checkBackup({ file, passphrase, onProgress }).finally(() => onProgress(null))
  printResult({ file, whole: true, ...report }, options)
}

async function restore(config: Config, file: string, passphrase: string, options: BackupOptions): Promise<void> {
  const log = openLog('silent', 'command')
  const database = await openDatabase(config, true, log)
  try {
    // Before the lock of the restore, which a pooler would keep for whoever comes next.
    await refuseSharedSessions([database.ownerUrl, database.url])
    const onProgress = showBytes(options)
    const report = await restoreBackup({
      file,
      passphrase,
      onProgress,
      ownerUrl: database.ownerUrl,
      files: openFiles(config),
      migrate: upTo => migrateOnly(database, upTo),
      checkKey: key => refuseOtherMasterKey(config, key),
      keepKey: key => keepMasterKey(config, key),
    }).finally(() => onProgress(null))
    await prepareDatabase(database, (isNew, fingerprint) => loadKeys(config, isNew, fingerprint))
    const pool = openRolePool(config, database.url, log)
    try {
      const memoryFile = config.databaseUrl === null ? join(config.dataFolder, MEMORY_FILE) : null
      const settled = await settleRestore(pool, await databaseClock(pool), { by: actor(), memoryFile })
      const held = await countHeld(database.url)
      const total = held.reduce((sum, { count }) => sum + count, 0)
      printResult({ file, ...report, held: options.json ? held : total }, options)
      if (!options.json && total > 0) printResult(HELD, options)
      if (!options.json) printResult(settled === 'held' ? LOST_SINCE : NOTHING_SINCE, options)
    } finally {
      await pool.end()
    }
  } finally {
    await database.close()
  }
}

const HELD = `
O que a cópia tinha por enviar está retido, porque pode ter saído depois dela. Veja com "carteiro restored list" e
solte com "carteiro restored release". O que for aceito de agora em diante sai normalmente.`

const LOST_SINCE = `
Guardas legais e exclusões feitas depois da cópia não estão nela. Refaça-as antes de iniciar o serviço, que apaga o que já venceu:
primeiro "carteiro legal-hold", depois "carteiro person erase".`

const NOTHING_SINCE = `
Nada aconteceu nesta máquina depois da cópia: nada precisa ficar retido.`

function readPassphrase(config: Config, { passphraseFile }: BackupOptions): string {
  const passphrase = passphraseFile === undefined ? config.backupPassphrase : readFirstLine(passphraseFile)
  if (passphrase === null)
    throw new OperatorError('Informe a senha da cópia em CARTEIRO_BACKUP_PASSPHRASE ou com --passphrase-file.')
  if (passphrase.length < MIN_PASSPHRASE)
    throw new OperatorError(`A senha da cópia deve ter ${MIN_PASSPHRASE} caracteres ou mais: a cópia traz a chave mestra.`)
  return passphrase
}

function readFirstLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/, 1)[0]!
  } catch (cause) {
    throw new OperatorError(`O arquivo ${file} não pode ser lido.`, { cause })
  }
}
