import { type Command, InvalidArgumentError, Option } from 'commander'
import { realProviderOf } from '../channels/carrier-name.js'
import { channelModules, findModule, moduleOf, providerNames } from '../channels/registry.js'
import { type Mode, modes } from '../domain/access/token.js'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import { readId } from '../domain/id.js'
import { readBrazilianDate, readIso } from '../domain/text/dates.js'
import type { OutputOptions } from './output.js'

export type AccountOptions = OutputOptions & { account: string }
export type ScopeOptions = AccountOptions & { mode: Mode }

export const addVerb = (parent: Command, name: string, description: string): Command =>
  parent.command(name).description(description).option('--json', 'resultado em JSON')

export const addAccountVerb = (parent: Command, name: string, description: string): Command =>
  addVerb(parent, name, description).requiredOption('--account <conta>', 'nome ou id da conta')

export const modeOption = (description: string): Option => new Option('--mode <modo>', description).choices(modes)

/** A verb on what an account has in one of its modes. */
export const addScopeVerb = (parent: Command, name: string, description: string): Command =>
  addAccountVerb(parent, name, description).addOption(
    modeOption('live: dos tokens de produção; test: dos tokens de teste').default('live'),
  )

/** The channels' names, as the API has them. */
export const channelNames: readonly string[] = channelModules.map(({ wire }) => wire)

/** --channel: takes the name of the API and gives the channel. */
export function channelOption(description: string): Option {
  const option = new Option('--channel <canal>', description).choices(channelNames)
  const check = option.parseArg!
  return option.argParser((text, previous) => findModule(check(text, previous) as string)!.channel)
}

/** A carrier's identity, or a provider for all of its carriers. A wrong name would match nothing, and nobody would notice. */
export function requireCarrier(text: string, channel: Channel | null): string {
  const carrier = text.trim()
  const known = channel === null ? providerNames : Object.keys(moduleOf(channel).providers)
  if (!known.includes(realProviderOf(carrier)))
    throw new OperatorError(
      `--carrier: "${carrier}" não é uma operadora${channel === null ? '' : ' deste canal'}. Use o nome que carteiro queue list e carteiro usage mostram, ou só o tipo: ${known.join(', ')}.`,
    )
  return carrier
}

export function required<T>(value: T | null, problem: string): T {
  if (value === null) throw new OperatorError(problem)
  return value
}

export const idReader =
  (problem: string) =>
  (text: string): string =>
    required(readId(text), problem)

export function readMoment(text: string): Date {
  const moment = readIso(text) ?? readBrazilianDate(text)
  if (moment === null)
    throw new InvalidArgumentError(
      'Informe um momento como "18/07/2026 01:01:32" (Brasília), ou em ISO 8601 com fuso: 2026-07-18T01:01:32-03:00.',
    )
  return moment
}

export const readLimit = (text: string): number =>
  required(/^\d{1,6}$/.test(text) && Number(text) > 0 ? Number(text) : null, '--limit deve ser um número inteiro a partir de 1.')

/** Options that another one leaves without an effect: whoever gives them counts on one. */
export function refuseBeside(option: string, others: Readonly<Record<string, unknown>>): void {
  const given = Object.keys(others).filter(name => others[name] !== undefined)
  if (given.length > 0)
    throw new OperatorError(
      `${given.join(' e ')} não ${given.length > 1 ? 'têm' : 'tem'} efeito com ${option}. Retire um ou outro e repita o comando.`,
    )
}

/** The members that the command line gives a value to; a command that changes nothing is a mistake. */
export function requireChanges<T extends object>(members: T, names: string): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  if (given.length === 0) throw new OperatorError(`Nada a mudar: informe ${names}.`)
  return Object.fromEntries(given) as { [Name in keyof T]?: Exclude<T[Name], undefined> }
}
