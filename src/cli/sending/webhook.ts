import { Command, InvalidArgumentError, Option } from 'commander'
import { documentUrls } from '../../app/channels.js'
import { targetRules, webhookFormat } from '../../app/webhook-rules.js'
import { findModule, loadContracts, moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError } from '../../domain/errors.js'
import type { Scope } from '../../domain/scope.js'
import { type AnnouncedFact, DEFAULT_PAYLOAD_VERSION, type PayloadVersion, payloadVersions } from '../../domain/webhook.js'
import { disabledReasons, factOfWireStatus } from '../../http/gw/webhook-wire.js'
import type { Pool } from '../../store/postgres.js'
import { type EndpointChanges, listEndpoints, type WebhookEndpoint } from '../../store/webhook/endpoints.js'
import {
  type ActParts,
  act as actOn,
  createEndpoint,
  type EndpointParts,
  editEndpoint,
  removeEndpoint,
  replayOne,
  requireEndpoint,
  rotateEndpoint,
  showAttempts,
  testEndpoint,
} from '../../webhooks/endpoints.js'
import { wireStatuses } from '../../webhooks/payload.js'
import { replaySpan } from '../../webhooks/replay.js'
import { audit, runForScope } from '../administration.js'
import { addScopeVerb, channelNames, idReader, readMoment, refuseBeside, requireChanges, type ScopeOptions } from '../options.js'
import type { Result } from '../output.js'

type FilterOptions = ScopeOptions & { url?: string; payload?: PayloadVersion; channels?: Channel[]; statuses?: AnnouncedFact[] }

const ATTEMPTS_SHOWN = 50
const factsByName: Readonly<Record<string, AnnouncedFact>> = factOfWireStatus
const statusNames = Object.keys(factsByName)
const EVERY_CHANNEL = 'todos'
const EVERY_STATUS = 'todas'
const readUuid = idReader('O identificador deve ser um UUID. Veja os webhooks com: carteiro webhook list --account CONTA')

export function webhookCommand(): Command {
  const webhook = new Command('webhook').description(
    'webhooks: criar, listar, testar, trocar o segredo, ver tentativas, reenviar',
  )
  addEndpointVerbs(webhook)
  addRepairVerbs(webhook)
  return webhook
}

const addIdVerb = (webhook: Command, name: string, description: string): Command =>
  addScopeVerb(webhook, name, description).argument('<id>', 'identificador do webhook', readUuid)

const withFilters = (command: Command): Command =>
  command
    .addOption(new Option('--payload <versão>', 'versão do corpo').choices(payloadVersions))
    .option('--channels <canais>', `canais, separados por vírgulas (${channelNames.join(', ')}), ou ${EVERY_CHANNEL}`, text =>
      readNames(text, EVERY_CHANNEL, name => findModule(name)?.channel, channelNames),
    )
    .option('--statuses <situações>', `situações, separadas por vírgulas (${statusNames.join(', ')}), ou ${EVERY_STATUS}`, text =>
      readNames(text, EVERY_STATUS, name => (Object.hasOwn(factsByName, name) ? factsByName[name] : undefined), statusNames),
    )

function addEndpointVerbs(webhook: Command): void {
  withFilters(addScopeVerb(webhook, 'create', 'cria um webhook e mostra o segredo, uma única vez'))
    .requiredOption('--url <url>', 'endereço que recebe os avisos')
    .action((options: FilterOptions & { url: string }) =>
      act(options, async (parts, scope) => {
        const { url, payload: version = DEFAULT_PAYLOAD_VERSION, channels = [], statuses = [] } = options
        const draft = { url, version, channels: someOrAll(channels), statuses: someOrAll(statuses) }
        const { endpoint, secret } = await createEndpoint(parts, scope, draft, Date.now())
        await audit(parts.pool, 'webhook create', endpoint.id, { ...scope })
        return { ...describe(endpoint), secret }
      }),
    )
  addScopeVerb(webhook, 'list', 'lista os webhooks').action((options: ScopeOptions) =>
    runForScope(options, async ({ pool }, scope) => [
      (await listEndpoints(pool, scope)).map(describe),
      `Nenhum webhook. Crie um com: carteiro webhook create --account ${options.account} --url https://sistema.example.com/avisos`,
    ]),
  )
  addIdVerb(webhook, 'show', 'mostra um webhook').action((id: string, options: ScopeOptions) =>
    runForScope(options, async ({ pool }, scope) => describe(await requireEndpoint(pool, scope, id))),
  )
  withFilters(addIdVerb(webhook, 'edit', 'muda endereço, versão ou filtros'))
    .option('--url <url>', 'novo endereço')
    .action((id: string, options: FilterOptions) => {
      const { url, payload: version, channels, statuses } = options
      const changes = { url, version, channels: channels && someOrAll(channels), statuses: statuses && someOrAll(statuses) }
      return edit(id, options, requireChanges(changes, '--url, --payload, --channels ou --statuses'))
    })
  addIdVerb(webhook, 'enable', 'ativa um webhook').action((id: string, options: ScopeOptions) =>
    edit(id, options, { active: true }),
  )
  addIdVerb(webhook, 'disable', 'desativa um webhook').action((id: string, options: ScopeOptions) =>
    edit(id, options, { active: false }),
  )
  addIdVerb(webhook, 'delete', 'apaga um webhook').action((id: string, options: ScopeOptions) =>
    act(options, async (parts, scope) => {
      await removeEndpoint(parts, scope, id)
      await audit(parts.pool, 'webhook delete', id, { ...scope })
      return { id, deleted: true }
    }),
  )
}

function addRepairVerbs(webhook: Command): void {
  addIdVerb(webhook, 'rotate', 'troca o segredo e mostra o novo; os dois assinam por 24 h').action(
    (id: string, options: ScopeOptions) =>
      act(options, async (parts, scope) => {
        const { endpoint, secret } = await rotateEndpoint(parts, scope, id)
        await audit(parts.pool, 'webhook rotate', endpoint.id, { ...scope })
        return { ...describe(endpoint), secret }
      }),
  )
  addIdVerb(webhook, 'test', 'envia um evento de teste').action((id: string, options: ScopeOptions) =>
    act(options, async (parts, scope) => ({ message: await testEndpoint(parts, scope, id, Date.now()) })),
  )
  addIdVerb(webhook, 'attempts', 'lista as últimas tentativas de entrega')
    .option('--failed', 'só as que falharam')
    .action((id: string, options: ScopeOptions & { failed?: boolean }) =>
      runForScope(options, async ({ pool, keys, config }, scope) => {
        const format = webhookFormat(
          await loadContracts(),
          documentUrls(() => config.publicUrl, keys),
        )
        const question = { before: null, message: null, failedOnly: options.failed ?? false, limit: ATTEMPTS_SHOWN }
        const attempts = await showAttempts(pool, format, scope, id, question)
        const shown = attempts.map(({ at, message, attempt, status, error, state, durationMs, ...rest }) => ({
          ...{ at, message, attempt, status, durationMs, state, error },
          ...(options.json ? { ...rest, channel: moduleOf(rest.channel).wire } : {}),
        }))
        return [
          shown,
          `Nenhuma tentativa${options.failed ? ' que falhou' : ' ainda. Envie um evento de teste com: carteiro webhook test'}.`,
        ]
      }),
    )
  addIdVerb(webhook, 'replay', 'reenvia uma mensagem, ou todas desde um momento')
    .option('--message <id>', 'uma mensagem só (webhook-id)', readUuid)
    .option('--since <momento>', 'todas desde este momento: "18/07/2026 01:01:32" (Brasília)', readMoment)
    .option('--until <momento>', 'e antes deste', readMoment)
    .option('--failed', 'com --since: só as que não chegaram')
    .action((id: string, options: ScopeOptions & { message?: string; since?: Date; until?: Date; failed?: boolean }) =>
      runWithParts(options, async (parts, scope) => {
        const { message, since, until = new Date(), failed = false } = options
        if ((message === undefined) === (since === undefined)) throw new OperatorError('Informe --message ou --since.')
        if (message !== undefined) refuseBeside('--message', { '--until': options.until, '--failed': options.failed })
        if (since !== undefined && since >= until)
          throw new OperatorError('--since deve ser antes de --until (sem ele, antes de agora). Corrija um dos dois.')
        const span = { since: since ?? until, until, missedOnly: failed }
        // A span is many transactions: the order is on record before the first of them.
        await actOn(parts, async within => {
          if (message === undefined) await requireEndpoint(within.pool, scope, id)
          else await replayOne(within, scope, id, message)
          await audit(within.pool, 'webhook replay', id, { ...scope, ...(message === undefined ? span : { message }) })
        })
        return { id, messages: message !== undefined ? 1 : await replaySpan(parts.pool, scope, id, span) }
      }),
    )
}

const edit = (id: string, options: ScopeOptions, changes: EndpointChanges): Promise<void> =>
  act(options, async (parts, scope) => {
    const edited = await editEndpoint(parts, scope, id, changes)
    await audit(parts.pool, 'webhook edit', edited.id, { ...scope, fields: Object.keys(changes) })
    return describe(edited)
  })

const runWithParts = (
  options: ScopeOptions,
  work: (parts: EndpointParts & { pool: Pool }, scope: Scope) => Promise<Result>,
): Promise<void> =>
  runForScope(options, ({ pool, keys, config }, scope) =>
    work({ pool, sealing: keys.sealing, rules: targetRules(config) }, scope),
  )

/** An act and its entry in the log of actions, in one transaction. */
const act = (options: ScopeOptions, work: (parts: ActParts, scope: Scope) => Promise<Result>): Promise<void> =>
  runWithParts(options, (parts, scope) => actOn(parts, within => work(within, scope)))

const describe = (endpoint: WebhookEndpoint) => ({
  id: endpoint.id,
  mode: endpoint.mode,
  url: endpoint.url,
  payload: endpoint.version,
  channels: endpoint.channels?.map(channel => moduleOf(channel).wire) ?? EVERY_CHANNEL,
  statuses: endpoint.statuses?.map(status => wireStatuses[status]) ?? EVERY_STATUS,
  active: endpoint.disabledAt === null,
  reason: endpoint.disabledReason && disabledReasons[endpoint.disabledReason],
  failingSince: endpoint.failingSince,
  waiting: endpoint.waiting,
})

const someOrAll = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list)

function readNames<T>(text: string, every: string, read: (name: string) => T | undefined, known: readonly string[]): T[] {
  if (text === every) return []
  return text.split(',').map(part => {
    const value = read(part.trim())
    if (value === undefined) throw new InvalidArgumentError(`Use nomes desta lista: ${known.join(', ')}.`)
    return value
  })
}
