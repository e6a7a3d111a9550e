import { createHmac } from 'node:crypto'
import { Command } from 'commander'
import { openFiles } from '../../app/database/database.js'
import { readPerson } from '../../channels/person.js'
import { blobUses } from '../../channels/registry.js'
import type { Keys } from '../../domain/access/keys.js'
import { OperatorError } from '../../domain/errors.js'
import { erasePerson, type FoundPerson, findPerson } from '../../engine/ageing/person.js'
import { exportPerson } from '../../evidence/person/export.js'
import { refuseExisting } from '../../runtime/draft.js'
import { dropBlobs } from '../../store/files/blobs.js'
import type { Person, PersonsNotification } from '../../store/person/find.js'
import { listSuppressedContacts } from '../../store/person/rows.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { type Administration, audit, requireAccount, run, withLongTimeouts } from '../administration.js'
import { addVerb } from '../options.js'
import type { OutputOptions, Result } from '../output.js'
import { PRIVATE, writeNew } from '../whole-file.js'

type PersonOptions = OutputOptions & { to: string; account?: string; everywhere?: boolean }

/** A search of every notification takes as long as the database is large. */
const TIMEOUT_FACTOR = 360

/** person: everything of one person, for a request under the LGPD. */
export function personCommand(): Command {
  const person = new Command('person').description('tudo o que há de uma pessoa (LGPD): exporta e apaga')
  addPersonVerb(person, 'export', 'grava num ZIP tudo o que há de uma pessoa: os dados e os arquivos')
    .option('--out <arquivo>', 'onde gravar: um arquivo novo', 'pessoa.zip')
    .action(({ out, ...options }: PersonOptions & { out: string }) => {
      // The existing file may be the export of another person.
      refuseExisting(out)
      return runFor(options, work => writeExport(work, out))
    })
  addPersonVerb(
    person,
    'erase',
    'apaga os dados de uma pessoa; sem --yes, só mostra o que seria apagado. As provas continuam conferindo',
  )
    .option('--yes', 'apaga: não há volta')
    .action(({ yes = false, ...options }: PersonOptions & { yes?: boolean }) => runFor(options, work => erase(work, yes)))
  return person
}

const addPersonVerb = (parent: Command, name: string, description: string): Command =>
  addVerb(parent, name, description)
    .requiredOption('--to <valor>', 'e-mail, telefone, documento ou nome, como os envios o têm')
    .option('--account <conta>', 'só nesta conta: cada conta é de um controlador')
    .option('--everywhere', 'procura também dentro de conteúdos, variáveis e eventos: lê o banco inteiro')

interface Work {
  administration: Administration
  pool: Pool
  person: Person
  found: FoundPerson
  /** Names the request in the log of actions without the person's data, which nobody could erase there. */
  subject: string
}

const runFor = ({ to, account, everywhere = false, ...options }: PersonOptions, work: (parts: Work) => Promise<Result>) => {
  if (to.trim() === '') throw new OperatorError('Informe em --to o e-mail, o telefone, o documento ou o nome da pessoa.')
  return run(options, administration => {
    const { config, keys, databaseUrl } = administration
    return withLongTimeouts({ url: databaseUrl, timeoutFactor: TIMEOUT_FACTOR, files: openFiles(config) }, async pool => {
      const owner = account === undefined ? null : (await requireAccount(pool, account)).id
      const person = await readPerson(to, owner)
      const found = await findPerson(pool, person, everywhere)
      return work({ administration, pool, person, found, subject: fingerprint(keys, to) })
    })
  })
}

const fingerprint = (keys: Keys, to: string): string =>
  createHmac('sha256', keys.derive('person')).update(to.trim().toLowerCase()).digest('hex').slice(0, 16)

async function writeExport({ pool, person, found, subject }: Work, out: string): Promise<Result> {
  const ids = found.notifications.map(({ id }) => id)
  const made = await exportPerson(pool, person, ids, new Date())
  await writeNew(out, made.write(), PRIVATE)
  await transaction(pool, db => audit(db, 'person export', subject, { notifications: ids }))
  const missing = made.missingFiles.map(({ path, reason }) => `${path}: ${reason}`)
  if (missing.length > 0) process.exitCode = 1
  return {
    ...{ file: out, size: made.size, notifications: ids.length, files: made.files },
    ...(missing.length > 0 ? { missingFiles: missing } : {}),
    otherContacts: otherContacts(person, found),
  }
}

async function erase({ pool, person, found, subject }: Work, yes: boolean): Promise<Result> {
  const stays = [...found.notifications.flatMap(describeStay), ...found.batches.map(describeBatch)]
  const kept = (await listSuppressedContacts(pool, person)).map(
    ({ account, mode, channel, recipient }) => `${recipient} (${account}, ${channel}, ${mode})`,
  )
  const told = { otherContacts: otherContacts(person, found), suppressionsKept: kept }
  if (!yes) {
    const erasable = found.notifications.length - found.notifications.filter(isKept).length
    return { wouldErase: erasable, stays, ...told, next: 'Nada foi apagado. Para apagar, repita com --yes.' }
  }
  const { erased, traces, files } = await erasePerson(pool, person, found, (db, result) =>
    audit(db, 'person erase', subject, { notifications: result.erased, stays: stays.length }),
  )
  const filesLeft = await dropBlobs(pool, blobUses, [...new Set(files)])
  // Another transaction had them at this moment.
  const missed = found.notifications.filter(one => !isKept(one) && !erased.includes(one.id))
  const busy = missed.map(({ id }) => `${id}: em uso neste momento. Repita o comando`)
  if (stays.length + busy.length > 0) process.exitCode = 1
  return {
    erased: erased.length,
    otherRows: traces,
    ...(filesLeft > 0 ? { filesLeft } : {}),
    stays: [...stays, ...busy],
    ...told,
  }
}

const isKept = ({ isOpen, heldBecause }: PersonsNotification): boolean => isOpen || heldBecause !== null

function describeStay({ id, isOpen, heldBecause }: PersonsNotification): string[] {
  if (heldBecause !== null)
    return [`${id}: sob guarda legal (${heldBecause}). Só pode ser apagada depois de: carteiro legal-hold ${id} --release`]
  return isOpen
    ? [`${id}: ainda em entrega. Espere o fim, ou encerre com carteiro finalize ${id} ou carteiro queue, e repita`]
    : []
}

const describeBatch = ({ id, name }: FoundPerson['batches'][number]): string =>
  `lote ${id} (${name}): tem linhas da pessoa que ainda serão enviadas. Cancele-o ou espere o fim, e repita`

/** The person may be known by them in other notifications, and another person may use them: an operator decides. */
const otherContacts = ({ contacts }: Person, { notifications }: FoundPerson): string[] =>
  [...new Set(notifications.flatMap(notification => notification.contacts))].filter(
    contact => !contacts.includes(contact.toLowerCase()),
  )
