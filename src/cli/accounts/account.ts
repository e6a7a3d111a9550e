import { readFileSync, statSync } from 'node:fs'
import { Command } from 'commander'
import { accountSettings, describeSetting, readAccountSetting } from '../../channels/account-settings.js'
import { findModule, moduleOf } from '../../channels/registry.js'
import { type SettingValue, type StoredSettings, settingsOf } from '../../domain/account.js'
import { readAccountName, readEntityName } from '../../domain/account-name.js'
import { OperatorError } from '../../domain/errors.js'
import { newId } from '../../domain/id.js'
import { findLogoProblem, logoType, MAX_LOGO_BYTES } from '../../domain/send/logo.js'
import { MAX_WAIT_MINUTES, type SequenceStep } from '../../domain/send/sequence.js'
import { conditionNames, findCondition, nameOfCondition } from '../../http/gw/condition-wire.js'
import {
  type Account,
  findSequence,
  insertAccount,
  listAccounts,
  listRanges,
  removeLogo,
  saveLogo,
  updateSequence,
  updateSettings,
} from '../../store/accounts/accounts.js'
import { audit, change, changeAccount, requireAccount, run, runForAccount } from '../administration.js'
import { type AccountOptions, addAccountVerb, addVerb, channelNames, refuseBeside } from '../options.js'
import type { OutputOptions } from '../output.js'

/** A step, as people write it. */
const writeStep = (channel: string | undefined, minutes: number, condition: SequenceStep['condition']): string =>
  `${channel}:${minutes}:${nameOfCondition(condition)}`
const EXAMPLE = writeStep(channelNames[1], 60, 'not delivered')
const settingNames = Object.keys(accountSettings)

export function accountCommand(): Command {
  const account = new Command('account').description('contas: criar, listar, ver e configurar')

  addVerb(account, 'create', 'cria uma conta')
    .requiredOption('--name <nome>', 'nome da conta, único')
    .option('--entity <entidade>', 'entidade a que pertence (o nome da conta, se omitida)')
    .option('--validation', 'habilita pergunta e resposta (validation)')
    .action((options: OutputOptions & { name: string; entity?: string; validation?: boolean }) => {
      const name = readAccountName(options.name, '--name')
      const entityName = readEntityName(options.entity, name, '--entity')
      return change(options, async db => {
        const now = Date.now()
        const id = newId(now)
        const settings = options.validation === true ? { validation: true } : {}
        if (!(await insertAccount(db, { id, name, entityId: newId(now), entityName, settings })))
          throw new OperatorError(
            `Já existe uma conta com o nome "${name}". Escolha outro nome, ou veja as contas com: carteiro account list`,
          )
        await audit(db, 'account create', id, { name })
        return describe(await requireAccount(db, id))
      })
    })

  addVerb(account, 'list', 'lista as contas').action((options: OutputOptions) =>
    run(options, async ({ pool }) => [
      (await listAccounts(pool)).map(describe),
      'Nenhuma conta ainda. Crie uma com: carteiro account create --name NOME',
    ]),
  )

  addAccountVerb(account, 'show', 'mostra uma conta, com suas configurações e endereços').action((options: AccountOptions) =>
    runForAccount(options, async ({ pool }, found) => {
      const addresses = await listRanges(pool, found.id)
      const settings = fullSettings(found)
      return options.json ? { ...describe(found), settings, addresses } : { ...describe(found), ...settings, addresses }
    }),
  )

  addAccountVerb(account, 'set', 'muda configurações de uma conta')
    .argument('<chave=valor...>', 'configurações a mudar')
    .addHelpText(
      'after',
      `\nConfigurações:\n${settingNames.map(name => `  ${name.padEnd(20)} ${describeSetting(accountSettings[name]!)}`).join('\n')}`,
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
    .argument(
      '[etapa...]',
      `etapas, como ${writeStep(channelNames[0], 0, 'always')} ${EXAMPLE} ${writeStep(channelNames.at(-1), 1_440, 'not read')}`,
    )
    .addHelpText(
      'after',
      `\nUma etapa é canal:minutos:condição. Canais: ${channelNames.join(', ')}. Condições: ${conditionNames.join(', ')}.`,
    )
    .action((given: string[], options: AccountOptions & { clear?: boolean }) => {
      if (given.length > 0) refuseBeside('etapas', { '--clear': options.clear })
      const sequence = given.map(readStep)
      const repeated = sequence.find(({ channel }, index) => sequence.findIndex(step => step.channel === channel) !== index)
      if (repeated !== undefined)
        throw new OperatorError(
          `O canal ${moduleOf(repeated.channel).wire} aparece mais de uma vez nas etapas. Deixe uma só etapa por canal.`,
        )
      return changeAccount(options, async (db, { id, name }) => {
        if (given.length > 0 || options.clear === true) {
          await updateSequence(db, id, given.length === 0 ? null : sequence)
          await audit(db, 'account sequence', id, { sequence })
        }
        const steps = (await findSequence(db, id)) ?? []
        return [
          steps.map(describeStep),
          `A conta "${name}" não tem régua: todos os canais saem na hora. Uma etapa é como ${EXAMPLE}.`,
        ]
      })
    })

  addAccountVerb(account, 'logo', 'muda ou retira o logotipo das páginas do destinatário e das cartas')
    .option('--clear', 'retira o logotipo')
    .argument('[arquivo]', `imagem PNG, JPEG ou SVG de até ${MAX_LOGO_BYTES / 1_000} kB`)
    .action((path: string | undefined, options: AccountOptions & { clear?: boolean }) => {
      if ((path === undefined) === (options.clear !== true)) throw new OperatorError('Informe um arquivo de imagem, ou --clear.')
      const logo = path === undefined ? null : readLogo(path)
      return changeAccount(options, async (db, { id, name }) => {
        const sha256 = logo === null ? null : await saveLogo(db, id, logo)
        if (logo === null) await removeLogo(db, id)
        await audit(db, 'account logo', id, { sha256 })
        return { account: name, type: logo?.type ?? null, sha256 }
      })
    })

  return account
}

function readStep(text: string): SequenceStep {
  const [name = '', minutes = '', wanted = '', ...rest] = text.split(':')
  const [channel, condition, waitMinutes] = [findModule(name)?.channel, findCondition(wanted), Number(minutes)]
  const isWait = /^\d{1,6}$/.test(minutes) && waitMinutes <= MAX_WAIT_MINUTES
  if (channel === undefined || condition === undefined || !isWait || rest.length > 0) {
    throw new OperatorError(
      `"${text}" não é uma etapa. Use canal:minutos:condição, como ${EXAMPLE}. Canais: ${channelNames.join(', ')}. Condições: ${conditionNames.join(', ')}.`,
    )
  }
  return { channel, waitMinutes, condition }
}

const describeStep = ({ channel, waitMinutes, condition }: SequenceStep) => {
  return { channel: moduleOf(channel).wire, waitMinutes, condition: nameOfCondition(condition) }
}

const fullSettings = ({ settings }: Account): Record<string, SettingValue> => settingsOf(accountSettings, settings)

const describe = ({ id, name, entity, createdAt }: Account) => ({ id, name, entity: entity.name, createdAt })

function readChanges(pairs: readonly string[]): StoredSettings {
  const changes: Record<string, SettingValue> = {}
  const problems: string[] = []
  for (const pair of pairs) {
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    const read = pair.includes('=') ? readAccountSetting(name, value) : null
    if (read === null) problems.push(`"${pair}" não é uma configuração; existem: ${settingNames.join(', ')}`)
    else if ('problem' in read) problems.push(`${name}: ${read.problem}`)
    else changes[name] = read.value
  }
  if (problems.length > 0) throw new OperatorError(problems.join('\n'))
  return changes
}

function readLogo(path: string): { type: string; bytes: Buffer } {
  const bytes = readImage(path)
  const problem = findLogoProblem(bytes)
  if (problem !== null) throw new OperatorError(`O arquivo ${path} não serve. ${problem}`)
  return { type: logoType(bytes)!, bytes }
}

function readImage(path: string): Buffer {
  try {
    const { size } = statSync(path)
    // Before the file is read: a wrong name may be the name of a large file.
    if (size > MAX_LOGO_BYTES)
      throw new OperatorError(`O logotipo tem ${size} bytes; o limite é ${MAX_LOGO_BYTES}. Reduza a imagem.`)
    return readFileSync(path)
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause
    throw new OperatorError(`Não foi possível ler o arquivo ${path}. Confira o nome e a permissão.`, { cause })
  }
}
