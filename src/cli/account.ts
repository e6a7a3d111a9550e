import { Command } from 'commander'
import { channelModules, channels } from '../channels/registry.js'
import { coreSettings, type Setting, type SettingValue, type StoredSettings, settingsOf } from '../domain/account.js'
import { OperatorError } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { MAX_WAIT_MINUTES, type SequenceStep, stepConditions } from '../domain/sequence.js'
import {
  type Account,
  findSequence,
  insertAccount,
  listAccounts,
  listRanges,
  updateSequence,
  updateSettings,
} from '../store/accounts/accounts.js'
import { transaction } from '../store/postgres.js'
import { audit, requireAccount, withDatabase } from './administration.js'
import { logoCommand } from './logo.js'
import { type OutputOptions, printList, printRecord } from './output.js'

/** Every setting of an account: the core's and the channels'. */
const allSettings: Readonly<Record<string, Setting>> = Object.assign(
  {},
  coreSettings,
  ...channelModules.map(({ settings }) => settings),
)
/** A step, as people write it. */
const EXAMPLE = `${channels[1]}:60:"not delivered"`
const settingNames = Object.keys(allSettings)

export function accountCommand(): Command {
  const account = new Command('account').description('contas: criar, listar, ver e configurar')

  account
    .command('create')
    .description('cria uma conta')
    .requiredOption('--name <nome>', 'nome da conta, único')
    .option('--entity <entidade>', 'entidade a que pertence (o nome da conta, se omitida)')
    .option('--validation', 'habilita pergunta e resposta (validation)')
    .option('--json', 'resultado em JSON')
    .action(async (options: OutputOptions & { name: string; entity?: string; validation?: boolean }) => {
      const name = options.name.trim()
      if (name === '') throw new OperatorError('O nome da conta não pode ficar em branco.')
      await withDatabase(async ({ pool }) => {
        const now = Date.now()
        const created = await transaction(pool, async db => {
          const id = newId(now)
          const settings = options.validation === true ? { validation: true } : {}
          if (!(await insertAccount(db, { id, name, entityId: newId(now), entityName: options.entity ?? name, settings }))) {
            throw new OperatorError(`Já existe uma conta com o nome "${name}".`)
          }
          await audit(db, 'account create', id, { name })
          return requireAccount(db, id)
        })
        printRecord(describe(created), options)
      })
    })

  account
    .command('list')
    .description('lista as contas')
    .option('--json', 'resultado em JSON')
    .action((options: OutputOptions) =>
      withDatabase(async ({ pool }) => printList((await listAccounts(pool)).map(describe), options)),
    )

  account
    .command('show')
    .description('mostra uma conta, com suas configurações e endereços')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .option('--json', 'resultado em JSON')
    .action((options: OutputOptions & { account: string }) =>
      withDatabase(async ({ pool }) => {
        const found = await requireAccount(pool, options.account)
        const addresses = await listRanges(pool, found.id)
        printRecord(
          options.json
            ? { ...describe(found), settings: fullSettings(found), addresses }
            : { ...describe(found), ...fullSettings(found), addresses: addresses.join(' ') },
          options,
        )
      }),
    )

  account
    .command('set')
    .description('muda configurações de uma conta')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .option('--json', 'resultado em JSON')
    .argument('<chave=valor...>', 'configurações a mudar')
    .addHelpText(
      'after',
      `\nConfigurações:\n${settingNames.map(name => `  ${name.padEnd(20)} ${allSettings[name]!.meaning}`).join('\n')}`,
    )
    .action(async (pairs: string[], options: OutputOptions & { account: string }) => {
      const changes = readChanges(pairs)
      await withDatabase(async ({ pool }) => {
        const changed = await transaction(pool, async db => {
          const { id } = await requireAccount(db, options.account)
          await updateSettings(db, id, changes)
          await audit(db, 'account set', id, changes)
          return requireAccount(db, id)
        })
        printRecord(options.json ? { ...describe(changed), settings: fullSettings(changed) } : fullSettings(changed), options)
      })
    })

  account
    .command('sequence')
    .description('mostra ou muda a régua: a ordem dos canais e as condições')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .option('--clear', 'retira a régua: todos os canais saem na hora')
    .option('--json', 'resultado em JSON')
    .argument('[etapa...]', `etapas, como ${channels[0]}:0:always ${EXAMPLE} ${channels.at(-1)}:1440:"not read"`)
    .addHelpText(
      'after',
      `\nUma etapa é canal:minutos:condição. Canais: ${channels.join(', ')}. Condições: ${stepConditions.join(', ')}.`,
    )
    .action(async (steps: string[], options: OutputOptions & { account: string; clear?: boolean }) => {
      const sequence = steps.map(readStep)
      const repeated = sequence.find(({ channel }, index) => sequence.findIndex(step => step.channel === channel) !== index)
      if (repeated !== undefined) throw new OperatorError(`O canal ${repeated.channel} aparece mais de uma vez nas etapas.`)
      await withDatabase(async ({ pool }) => {
        const { id } = await requireAccount(pool, options.account)
        if (steps.length > 0 || options.clear === true) {
          await updateSequence(pool, id, steps.length === 0 ? null : sequence)
          await audit(pool, 'account sequence', id, { sequence })
        }
        printList(
          ((await findSequence(pool, id)) ?? []).map(step => ({ ...step })),
          options,
        )
      })
    })

  return account.addCommand(logoCommand())
}

function readStep(text: string): SequenceStep {
  const [channel, minutes, condition] = text.split(':')
  const step = { channel, waitMinutes: Number(minutes), condition } as SequenceStep
  const valid = channels.includes(step.channel) && stepConditions.includes(step.condition) && /^\d{1,6}$/.test(minutes ?? '')
  if (!valid || step.waitMinutes > MAX_WAIT_MINUTES) {
    throw new OperatorError(`"${text}" não é uma etapa. Use canal:minutos:condição, como ${EXAMPLE}.`)
  }
  return step
}

const fullSettings = ({ settings }: Account): Record<string, SettingValue> => settingsOf(allSettings, settings)

const describe = ({ id, name, entity, createdAt }: Account) => ({ id, name, entity: entity.name, createdAt })

function readChanges(pairs: readonly string[]): StoredSettings {
  const changes: Record<string, SettingValue> = {}
  const problems: string[] = []
  for (const pair of pairs) {
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    if (!pair.includes('=') || !settingNames.includes(name)) {
      problems.push(`"${pair}" não é uma configuração; existem: ${settingNames.join(', ')}`)
      continue
    }
    const setting = allSettings[name]!
    const read = setting.read(value)
    if (read === null) problems.push(`${name}: ${setting.explain?.(value) ?? setting.meaning}`)
    else changes[name] = read
  }
  if (problems.length > 0) throw new OperatorError(problems.join('\n'))
  return changes
}
