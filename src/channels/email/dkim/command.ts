import { Resolver } from 'node:dns'
import { Command, InvalidArgumentError, Option } from 'commander'
import { OperatorError } from '../../../domain/errors.js'
import { brazilianIso } from '../../../domain/text/dates.js'
import { transaction } from '../../../store/postgres.js'
import type { CommandContext } from '../../channel.js'
import { textResolver } from '../resolver.js'
import { type DkimKey, listDkimKeys } from './key-store.js'
import {
  checkPublished,
  generateDkimKey,
  type PublicKey,
  removeDkimKey,
  requireDkimKey,
  saveDkimKey,
  startSigning,
} from './keys.js'
import {
  type DkimAlgorithm,
  type DkimName,
  dkimAlgorithms,
  readDkimName,
  readKeyFile,
  recordName,
  zoneLine,
} from './signing-key.js'

type Options = { json?: boolean; force?: boolean; server?: string[] }
type CreateOptions = { json?: boolean; selector?: string; algorithm?: DkimAlgorithm; keyFile?: string }

export function dkimCommand(context: CommandContext): Command {
  const { withDatabase, audit, printList, printRecord } = context
  const dkim = new Command('dkim').description('chaves DKIM por domínio: criar, listar, ver, ativar e remover')
  addCreate(dkim, context)
  dkim
    .command('list')
    .description('lista as chaves e mostra qual assina os e-mails de cada domínio')
    .option('--json', 'resultado em JSON')
    .action((options: Options) =>
      withDatabase(async ({ pool }) => {
        const none = 'Nenhuma chave DKIM. Crie uma com: carteiro dkim create DOMÍNIO'
        printList((await listDkimKeys(pool)).map(describe), none, options)
      }),
    )
  named(dkim, 'show', 'mostra uma chave e o registro que o DNS deve ter').action(
    async (domain: string, selector: string, options: Options) => {
      const name = requireName(domain, selector)
      await withDatabase(async ({ pool, keys }) =>
        printRecord(describeWithRecord(await requireDkimKey(pool, keys.sealing, name)), options),
      )
    },
  )
  named(dkim, 'activate', 'assina com a chave daqui em diante, se o DNS já tem o registro dela')
    .option('--server <ip>', 'servidor de DNS a consultar, como 203.0.113.53 (o do sistema, se omitido)', readServer)
    .option('--force', 'ativa sem consultar o DNS')
    .action(async (domain: string, selector: string, options: Options) => {
      const name = requireName(domain, selector)
      await withDatabase(async ({ pool, keys }) => {
        const { record, ...key } = await requireDkimKey(pool, keys.sealing, name)
        if (options.force !== true) await checkPublished(record, textResolver(options.server ?? null))
        const activated = await transaction(pool, async db => {
          await startSigning(db, key)
          await audit(db, 'dkim activate', recordName(name), { forced: options.force === true })
          return requireDkimKey(db, keys.sealing, name)
        })
        printRecord(describe(activated), options)
      })
    })
  named(dkim, 'remove', 'apaga uma chave que não assina mais')
    .option('--force', 'apaga também a que assina')
    .action(async (domain: string, selector: string, options: Options) => {
      const name = requireName(domain, selector)
      await withDatabase(async ({ pool }) => {
        await transaction(pool, async db => {
          await removeDkimKey(db, name, options.force === true)
          await audit(db, 'dkim remove', recordName(name), { forced: options.force === true })
        })
        printRecord({ ...name, removed: true }, options)
      })
    })
  return dkim
}

const named = (dkim: Command, name: string, description: string): Command =>
  dkim
    .command(name)
    .description(description)
    .argument('<domínio>', 'domínio do remetente')
    .argument('<seletor>', 'seletor da chave')
    .option('--json', 'resultado em JSON')

function addCreate(dkim: Command, { withDatabase, audit, printRecord }: CommandContext): void {
  dkim
    .command('create')
    .description('cria uma chave e mostra o registro a publicar no DNS; ela só assina depois de ativada')
    .argument('<domínio>', 'domínio do remetente')
    .option('--selector <seletor>', 'nome da chave no DNS (carteiro-AAAAMMDD, se omitido)')
    .addOption(new Option('--algorithm <algoritmo>', 'rsa (2048 bits) ou ed25519; rsa, se omitido').choices(dkimAlgorithms))
    .option('--key-file <arquivo>', 'usa a chave privada deste arquivo PEM em vez de uma nova')
    .option('--json', 'resultado em JSON')
    .addHelpText('after', '\nDepois de publicar o registro: carteiro dkim activate DOMÍNIO SELETOR')
    .action(async (domain: string, { keyFile, algorithm, ...options }: CreateOptions) => {
      const today = brazilianIso(new Date()).slice(0, 10).replaceAll('-', '')
      const name = requireName(domain, options.selector ?? `carteiro-${today}`)
      if (keyFile !== undefined && algorithm !== undefined)
        throw new OperatorError('O algoritmo é o da chave do arquivo: informe --algorithm ou --key-file, não os dois.')
      const signing =
        keyFile === undefined
          ? generateDkimKey(name, algorithm ?? 'rsa')
          : readKeyFile({ ...name, keyFile }, `Não foi possível ler o arquivo ${keyFile}.`)
      await withDatabase(async ({ pool, keys }) => {
        const created = await transaction(pool, async db => {
          await saveDkimKey(db, keys.sealing, signing)
          const detail = { algorithm: signing.algorithm, imported: keyFile !== undefined }
          await audit(db, 'dkim create', recordName(name), detail)
          return requireDkimKey(db, keys.sealing, name)
        })
        printRecord(describeWithRecord(created), options)
      })
    })
}

const describe = ({ domain, selector, algorithm, signs, createdAt, activatedAt }: DkimKey) => {
  return { domain, selector, algorithm, signs, createdAt, activatedAt }
}

/** The value in one piece for a provider's form, the whole line for a zone file. */
const describeWithRecord = ({ record, ...key }: PublicKey) => ({
  ...describe(key),
  name: record.name,
  type: 'TXT',
  value: record.value,
  zone: zoneLine(record),
})

function requireName(domain: string, selector: string): DkimName {
  const name = readDkimName({ domain, selector })
  if (name !== null) return name
  throw new OperatorError(
    `"${selector}" e "${domain}" não formam um nome de chave DKIM. Use um domínio como example.com e um seletor de letras, números e hifens.`,
  )
}

/** An IP address, with the port where it is not 53: 127.0.0.1:5353, [::1]:5353. */
function readServer(text: string): string[] {
  try {
    new Resolver().setServers([text])
    return [text]
  } catch {
    throw new InvalidArgumentError('Informe o IP de um servidor de DNS, como 203.0.113.53.')
  }
}
