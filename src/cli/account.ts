import { readFileSync, statSync } from 'node:fs'
import { Command } from 'commander'
import { channelModules, channels } from '../channels/registry.js'
import { coreSettings, type Setting, type SettingValue, type StoredSettings, settingsOf } from '../domain/account.js'
import { OperatorError } from '../domain/errors.js'
import { newId } from '../domain/id.js'
import { logoType, MAX_LOGO_BYTES } from '../domain/logo.js'
import { MAX_WAIT_MINUTES, type SequenceStep, stepConditions } from '../domain/sequence.js'
import {
  type Account,
  deleteLogo,
  findSequence,
  insertAccount,
  listAccounts,
  listRanges,
  saveLogo,
  updateSequence,
  updateSettings,
} from '../store/accounts/accounts.js'
import { audit, change, changeAccount, requireAccount, run, runForAccount } from './administration.js'
import { type AccountOptions, addAccountVerb, addVerb } from './options.js'
import type { OutputOptions } from './output.js'

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

  addVerb(account, 'create', 'cria uma conta')
    .requiredOption('--name <nome>', 'nome da conta, único')
    .option('--entity <entidade>', 'entidade a que pertence (o nome da conta, se omitida)')
    .option('--validation', 'habilita pergunta e resposta (validation)')
    .action((options: OutputOptions & { name: string; entity?: string; validation?: boolean }) => {
      const name = options.name.trim()
      if (name === '') throw new OperatorError('O nome da conta não pode ficar em branco.')
      return change(options, async db => {
        const now = Date.now()
        const id = newId(now)
        const settings = options.validation === true ? { validation: true } : {}
        if (!(await insertAccount(db, { id, name, entityId: newId(now), entityName: options.entity ?? name, settings })))
          throw new OperatorError(`Já existe uma conta com o nome "${name}".`)
        await audit(db, 'account create', id, { name })
        return describe(await requireAccount(db, id))
      })
    })

  addVerb(account, 'list', 'lista as contas').action((options: OutputOptions) =>
    run(options, async ({ pool }) => (await listAccounts(pool)).map(describe)),
  )

  addAccountVerb(account, 'show', 'mostra uma conta, com suas configurações e endereços').action((options: AccountOptions) =>
    runForAccount(options, async ({ pool }, found) => {
      const addresses = await listRanges(pool, found.id)
      const settings = fullSettings(found)
      return options.json
        ? { ...describe(found), settings, addresses }
        : { ...describe(found), ...settings, addresses: addresses.join(' ') }
    }),
  )

  addAccountVerb(account, 'set', 'muda configurações de uma conta')
    .argument('<chave=valor...>', 'configurações a mudar')
    .addHelpText(
      'after',
      `\nConfigurações:\n${settingNames.map(name => `  ${name.padEnd(20)} ${allSettings[name]!.meaning}`).join('\n')}`,
    )
    .action((pairs: string[], options: AccountOptions) => {
      const changes = readChanges(pairs)
      return changeAccount(options, async (db, { id }) => {
        await updateSettings(db, id, changes)
        await audit(db, 'account set', id, changes)
        const changed = await requireAccount(db, id)
        return options.json ? { ...describe(changed), settings: fullSettings(changed) } : fullSettings(changed)
      })
    })

  addAccountVerb(account, 'sequence', 'mostra ou muda a régua: a ordem dos canais e as condições')
    .option('--clear', 'retira a régua: todos os canais saem na hora')
    .argument('[etapa...]', `etapas, como ${channels[0]}:0:always ${EXAMPLE} ${channels.at(-1)}:1440:"not read"`)
    .addHelpText(
      'after',
      `\nUma etapa é canal:minutos:condição. Canais: ${channels.join(', ')}. Condições: ${stepConditions.join(', ')}.`,
    )
    .action((steps: string[], options: AccountOptions & { clear?: boolean }) => {
      const sequence = steps.map(readStep)
      const repeated = sequence.find(({ channel }, index) => sequence.findIndex(step => step.channel === channel) !== index)
      if (repeated !== undefined) throw new OperatorError(`O canal ${repeated.channel} aparece mais de uma vez nas etapas.`)
      return changeAccount(options, async (db, { id }) => {
        if (steps.length > 0 || options.clear === true) {
          await updateSequence(db, id, steps.length === 0 ? null : sequence)
          await audit(db, 'account sequence', id, { sequence })
        }
        return ((await findSequence(db, id)) ?? []).map(step => ({ ...step }))
      })
    })

  addAccountVerb(account, 'logo', 'muda ou retira o logotipo das páginas do destinatário')
    .option('--clear', 'retira o logotipo')
    .argument('[arquivo]', `imagem PNG, JPEG ou SVG de até ${MAX_LOGO_BYTES / 1_000} kB`)
    .action((path: string | undefined, options: AccountOptions & { clear?: boolean }) => {
      if ((path === undefined) === (options.clear !== true)) throw new OperatorError('Informe um arquivo de imagem, ou --clear.')
      const logo = path === undefined ? null : readLogo(path)
      return changeAccount(options, async (db, { id, name }) => {
        const sha256 = logo === null ? null : await saveLogo(db, id, logo)
        if (logo === null) await deleteLogo(db, id)
        await audit(db, 'account logo', id, { sha256 })
        return { account: name, type: logo?.type ?? null, sha256 }
      })
    })

  return account
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

function readLogo(path: string): { type: string; bytes: Buffer } {
  let size: number
  try {
    size = statSync(path).size
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler o arquivo ${path}.`, { cause })
  }
  if (size > MAX_LOGO_BYTES)
    throw new OperatorError(`O logotipo tem ${size} bytes; o limite é ${MAX_LOGO_BYTES}. Reduza a imagem.`)
  const bytes = readFileSync(path)
  const type = logoType(bytes)
  if (type === null)
    throw new OperatorError(`O arquivo ${path} não é uma imagem PNG, JPEG ou SVG. O conteúdo é conferido, não o nome.`)
  return { type, bytes }
}
