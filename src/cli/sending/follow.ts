import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import type { Carteiro, NotificationSummary, NotificationsQuery, TimelineEvent } from '../../../client/client.js'
import { channelNames, idReader, readLimit } from '../options.js'
import { cutList, type OutputOptions, oneLine, openStopSignal, print, printList, printRecord } from '../output.js'
import { type RemoteOptions, remoteCommand, withGateway } from '../remote.js'

const readIdEmail = idReader('Informe o idEmail da notificação (um UUID).')
const ID = 'o idEmail da notificação'

/** How often a gateway is asked what is new. */
const WATCH_MS = 1_000

export const statusCommand = (): Command =>
  remoteCommand('status', 'a situação de cada canal de uma notificação')
    .argument('<id>', ID, readIdEmail)
    .option('--watch', 'continua, e mostra cada evento quando acontece; Ctrl-C encerra')
    .action((id: string, { watch, ...options }: RemoteOptions & { watch?: boolean }) =>
      withGateway(options, async carteiro => {
        const status = await carteiro.fullStatus(id)
        if (options.json && !watch) return print(JSON.stringify(status))
        const rows = Object.entries(status.lastStatus).map(([channel, last]) => {
          return { channel, description: last.label, at: last.dateTime, reason: last.reason ?? null }
        })
        if (!options.json) printList(rows, 'Nenhum canal nesta notificação.', options)
        if (watch) await watchEvents(carteiro, id, options)
      }),
    )

export const eventsCommand = (): Command =>
  remoteCommand('events', 'a linha do tempo de uma notificação, do primeiro evento ao último')
    .argument('<id>', ID, readIdEmail)
    .action((id: string, options: RemoteOptions) =>
      withGateway(options, async carteiro => {
        const events = await carteiro.events(id)
        if (options.json) print(JSON.stringify(events))
        else printList(events.map(toRow), 'Nenhum evento.', options)
      }),
    )

export const finalizeCommand = (): Command =>
  remoteCommand('finalize', 'cancela o que ainda espera numa notificação')
    .argument('<id>', ID, readIdEmail)
    .action((id: string, options: RemoteOptions) =>
      withGateway(options, async carteiro => printRecord({ ...(await carteiro.finalize(id)) }, options)),
    )

type ListOptions = RemoteOptions & {
  customId?: string
  recipient?: string
  channel?: string
  status?: string
  from?: string
  to?: string
  limit: number
}

export const listCommand = (): Command =>
  remoteCommand('list', 'as notificações da conta, da mais nova à mais antiga')
    .option('--custom-id <referência>', 'só as de uma referência (customID)')
    .option('--recipient <contato>', 'só as de um e-mail ou número')
    .addOption(new Option('--channel <canal>', 'só as que usam um canal').choices(channelNames))
    .option('--status <situação>', 'só as que estão numa situação, como em GET /gw/notifications')
    .option('--from <data>', 'desde esta data')
    .option('--to <data>', 'até esta data')
    .option('--limit <n>', 'quantas no máximo', readLimit, 50)
    .action(({ customId, recipient, channel, status, from, to, limit, ...options }: ListOptions) =>
      withGateway(options, async carteiro => {
        const query = { customID: customId, recipient, channel, status, from, to }
        const asked = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)) as NotificationsQuery
        const found: NotificationSummary[] = []
        for await (const summary of carteiro.notifications(asked)) if (found.push(summary) > limit) break
        const shown = cutList(found, limit, 'as mais novas')
        if (options.json) return print(JSON.stringify(shown))
        const rows = shown.map(({ idEmail, criadoEm, nameTo, subject, canais }) => {
          const channels = canais.map(({ canal, label }) => `${canal}: ${label}`)
          return { id: idEmail, at: criadoEm, name: nameTo, subject, channels }
        })
        printList(rows, 'Nenhuma notificação. Envie uma com: carteiro send', options)
      }),
    )

/** Until the person has seen enough. */
async function watchEvents(carteiro: Carteiro, id: string, options: OutputOptions): Promise<void> {
  const signal = openStopSignal()
  let seen = -1
  while (!signal.aborted) {
    const events = await carteiro.events(id)
    for (const event of events.filter(({ seq }) => seq > seen)) {
      const { at, channel, description, reason } = toRow(event)
      const words = [at, channel ?? '-', description, reason].filter(Boolean)
      print(options.json ? JSON.stringify(event) : oneLine(words.join('  ')))
      seen = event.seq
    }
    await sleep(WATCH_MS, undefined, { signal }).catch(() => {})
  }
}

const toRow = ({ dateTime, canal, label, operadora, motivo, prova }: TimelineEvent) => ({
  at: dateTime,
  channel: canal ?? null,
  description: label,
  carrier: operadora ?? null,
  reason: motivo ?? null,
  proof: prova.descricao,
})
