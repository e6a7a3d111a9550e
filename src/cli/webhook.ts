import { Command, InvalidArgumentError, Option } from 'commander'
import { documentUrls } from '../app/channels.js'
import { targetRules, webhookFormat } from '../app/webhooks.js'
import { channelModules, findModule, loadContracts } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import { readId } from '../domain/id.js'
import { type AnnouncedFact, type PayloadVersion, payloadVersions } from '../domain/webhook.js'
import { statusOf } from '../http/gw/webhook-wire.js'
import { type EndpointChanges, listEndpoints, type WebhookEndpoint } from '../store/webhook/endpoints.js'
import {
  createEndpoint,
  type EndpointParts,
  editEndpoint,
  removeEndpoint,
  replayOne,
  replaySpan,
  requireEndpoint,
  rotateEndpoint,
  showAttempts,
  testEndpoint,
} from '../webhooks/endpoints.js'
import { type WebhookFormat, wireStatuses } from '../webhooks/payload.js'
import { type Administration, audit, requireAccount, withDatabase } from './administration.js'
import { readMoment } from './moment.js'
import { type OutputOptions, printList, printRecord } from './output.js'

type Options = OutputOptions & { account: string }
const wireNames = channelModules.map(({ wire }) => wire)

type Interests = { payload?: PayloadVersion; channels?: Channel[]; statuses?: AnnouncedFact[] }

const ATTEMPTS_SHOWN = 50

export function webhookCommand(): Command {
  const webhook = new Command('webhook').description(
    'webhooks: criar, listar, testar, trocar o segredo, ver tentativas, reenviar',
  )
  addEndpointVerbs(webhook)
  addRepairVerbs(webhook)
  return webhook
}

const verb = (webhook: Command, name: string, description: string): Command =>
  webhook
    .command(name)
    .description(description)
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .option('--json', 'resultado em JSON')

const withInterests = (command: Command): Command =>
  command
    .addOption(new Option('--payload <versão>', 'versão do corpo').choices(payloadVersions))
    .option('--channels <canais>', `canais, separados por vírgulas (${wireNames.join(', ')}); all: todos`, readChannels)
    .option(
      '--statuses <situações>',
      `situações, separadas por vírgulas (${Object.keys(statusOf).join(', ')}); all: todas`,
      readStatuses,
    )

function addEndpointVerbs(webhook: Command): void {
  withInterests(verb(webhook, 'create', 'cria um webhook e mostra o segredo, uma única vez'))
    .requiredOption('--url <url>', 'endereço que recebe os avisos')
    .action((options: Options & Interests & { url: string }) =>
      forAccount(options, async (parts, account) => {
        const draft = {
          url: options.url,
          version: options.payload ?? ('v2' as const),
          channels: someOrAll(options.channels ?? []),
          statuses: someOrAll(options.statuses ?? []),
        }
        const { endpoint, secret } = await createEndpoint(parts, account, draft, Date.now())
        await audit(parts.pool, 'webhook create', endpoint.id, { account })
        printRecord({ ...describe(endpoint), secret }, options)
      }),
    )
  verb(webhook, 'list', 'lista os webhooks').action((options: Options) =>
    forAccount(options, async ({ pool }, account) => printList((await listEndpoints(pool, account)).map(describe), options)),
  )
  verb(webhook, 'show', 'mostra um webhook')
    .argument('<id>', 'identificador do webhook')
    .action((id: string, options: Options) =>
      forAccount(options, async ({ pool }, account) =>
        printRecord(describe(await requireEndpoint(pool, account, requireId(id))), options),
      ),
    )
  withInterests(verb(webhook, 'edit', 'muda endereço, versão ou filtros'))
    .argument('<id>', 'identificador do webhook')
    .option('--url <url>', 'novo endereço')
    .action((id: string, options: Options & Interests & { url?: string }) => {
      const changes: EndpointChanges = {
        ...(options.url === undefined ? {} : { url: options.url }),
        ...(options.payload === undefined ? {} : { version: options.payload }),
        ...(options.channels === undefined ? {} : { channels: someOrAll(options.channels) }),
        ...(options.statuses === undefined ? {} : { statuses: someOrAll(options.statuses) }),
      }
      if (Object.keys(changes).length === 0)
        throw new OperatorError('Nada a mudar: informe --url, --payload, --channels ou --statuses.')
      return change(id, options, changes)
    })
  verb(webhook, 'enable', 'ativa um webhook')
    .argument('<id>', 'identificador do webhook')
    .action((id: string, options: Options) => change(id, options, { active: true }))
  verb(webhook, 'disable', 'desativa um webhook')
    .argument('<id>', 'identificador do webhook')
    .action((id: string, options: Options) => change(id, options, { active: false }))
  verb(webhook, 'delete', 'apaga um webhook')
    .argument('<id>', 'identificador do webhook')
    .action((id: string, options: Options) =>
      forAccount(options, async (parts, account) => {
        await removeEndpoint(parts, account, requireId(id))
        await audit(parts.pool, 'webhook delete', id, { account })
        printRecord({ id, deleted: true }, options)
      }),
    )
}

function addRepairVerbs(webhook: Command): void {
  verb(webhook, 'rotate', 'troca o segredo e mostra o novo; os dois assinam por 24 h')
    .argument('<id>', 'identificador do webhook')
    .action((id: string, options: Options) =>
      forAccount(options, async (parts, account) => {
        const { endpoint, secret } = await rotateEndpoint(parts, account, requireId(id))
        await audit(parts.pool, 'webhook rotate', endpoint.id, { account })
        printRecord({ ...describe(endpoint), secret }, options)
      }),
    )
  verb(webhook, 'test', 'envia um evento de teste')
    .argument('<id>', 'identificador do webhook')
    .action((id: string, options: Options) =>
      forAccount(options, async (parts, account) =>
        printRecord({ message: await testEndpoint(parts, account, requireId(id), Date.now()) }, options),
      ),
    )
  verb(webhook, 'attempts', 'lista as últimas tentativas de entrega')
    .argument('<id>', 'identificador do webhook')
    .option('--failed', 'só as que falharam')
    .action((id: string, options: Options & { failed?: boolean }) =>
      forAccount(options, async ({ pool, format }, account) => {
        const question = { before: null, message: null, failedOnly: options.failed ?? false, limit: ATTEMPTS_SHOWN }
        const attempts = await showAttempts(pool, format, account, requireId(id), question)
        const shown = attempts.map(({ at, message, attempt, status, error, state, durationMs, ...rest }) => ({
          ...{ at, message, attempt, status, durationMs, state, error },
          ...(options.json ? rest : {}),
        }))
        printList(shown, options)
      }),
    )
  verb(webhook, 'replay', 'reenvia uma mensagem, ou todas desde um momento')
    .argument('<id>', 'identificador do webhook')
    .option('--message <id>', 'uma mensagem só (webhook-id)')
    .option('--since <momento>', 'todas desde este momento: 2026-07-18T01:01:32-03:00', readMoment)
    .option('--until <momento>', 'e antes deste', readMoment)
    .option('--failed', 'com --since: só as que não chegaram')
    .action((id: string, options: Options & { message?: string; since?: Date; until?: Date; failed?: boolean }) =>
      forAccount(options, async (parts, account) => {
        const { message, since, until, failed } = options
        if ((message === undefined) === (since === undefined)) throw new OperatorError('Informe --message ou --since.')
        const endpoint = requireId(id)
        if (message !== undefined) await replayOne(parts, account, endpoint, requireId(message))
        const span = { since: since ?? new Date(), until: until ?? new Date(), missedOnly: failed ?? false }
        const count = message !== undefined ? 1 : await replaySpan(parts, account, endpoint, span)
        await audit(parts.pool, 'webhook replay', endpoint, { account, messages: count })
        printRecord({ id: endpoint, messages: count }, options)
      }),
    )
}

const change = (id: string, options: Options, changes: EndpointChanges): Promise<void> =>
  forAccount(options, async (parts, account) => {
    const edited = await editEndpoint(parts, account, requireId(id), changes)
    await audit(parts.pool, 'webhook edit', edited.id, { account, fields: Object.keys(changes) })
    printRecord(describe(edited), options)
  })

type Parts = EndpointParts & { format: WebhookFormat }

const forAccount = (options: Options, work: (parts: Parts, account: string) => Promise<void>): Promise<void> =>
  withDatabase(async ({ pool, keys, config }: Administration) =>
    work(
      {
        pool,
        sealing: keys.sealing,
        rules: targetRules(config),
        format: webhookFormat(
          await loadContracts(),
          documentUrls(() => config.publicUrl, keys),
        ),
      },
      (await requireAccount(pool, options.account)).id,
    ),
  )

const describe = (endpoint: WebhookEndpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  payload: endpoint.version,
  channels: endpoint.channels ?? 'all',
  statuses: endpoint.statuses?.map(status => wireStatuses[status]) ?? 'all',
  active: endpoint.disabledAt === null,
  reason: endpoint.disabledReason,
  failingSince: endpoint.failingSince,
  waiting: endpoint.waiting,
})

const someOrAll = <T>(list: T[]): T[] | null => (list.length === 0 ? null : list)

function readChannels(text: string): Channel[] {
  return readNames(text, name => findModule(name)?.channel, wireNames)
}

function readStatuses(text: string): AnnouncedFact[] {
  const names = statusOf as Record<string, AnnouncedFact>
  return readNames(text, name => (Object.hasOwn(names, name) ? names[name] : undefined), Object.keys(names))
}

function readNames<T>(text: string, read: (name: string) => T | undefined, known: readonly string[]): T[] {
  if (text === 'all') return []
  return text.split(',').map(part => {
    const value = read(part.trim())
    if (value === undefined) throw new InvalidArgumentError(`Use nomes desta lista: ${known.join(', ')}.`)
    return value
  })
}

function requireId(text: string): string {
  const id = readId(text)
  if (id === null)
    throw new OperatorError('O identificador deve ser um UUID. Veja os webhooks com: carteiro webhook list --account CONTA')
  return id
}
