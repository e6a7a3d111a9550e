import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { channelModules } from '../../../channels/registry.js'
import { lastStep } from '../../../domain/delivery/status.js'
import { CSV_MARK, csvLine } from '../../../domain/text/csv-line.js'
import { brazilianDate } from '../../../domain/text/dates.js'
import type { FoundNotification } from '../../../store/notification/found-notifications.js'
import type { PageSize } from '../../../store/notification/search.js'
import type { Pool } from '../../../store/postgres.js'
import type { ReadList } from '../../../store/replica.js'
import { asDownload } from '../../download.js'
import { accountNames, everyone, route, searchScopeOf } from '../route.js'
import { toneOf } from '../tone.js'
import { type Contracts, searchPage } from './notification-search.js'
import {
  type NotificationRow,
  type NotificationsPage,
  type NotificationsQuery,
  notificationsPage,
  notificationsQuery,
} from './notifications-schema.js'

export interface NotificationOptions {
  pool: Pool
  readList: ReadList
  contracts: Contracts
}

/** The list of notifications, and the same list as a file. */
export function addNotifications(app: FastifyInstance, { pool, readList, contracts }: NotificationOptions): void {
  app.get<{ Querystring: NotificationsQuery }>(
    '/console/api/notifications',
    route(everyone, { querystring: notificationsQuery, response: { 200: notificationsPage } }),
    async (request): Promise<NotificationsPage> => {
      const scope = await searchScopeOf(pool, request)
      const page = await readList(db => searchPage(db, scope, request.query, contracts))
      const names = await accountNames(pool, page.notifications)
      return { rows: page.notifications.map(found => toRow(found, names)), cursor: page.next }
    },
  )

  app.get<{ Querystring: NotificationsQuery }>(
    '/console/api/notifications.csv',
    { ...route(everyone, { querystring: notificationsQuery }), exposeHeadRoute: false },
    async (request, reply) => {
      const scope = await searchScopeOf(pool, request)
      const readPage = (query: NotificationsQuery) => readList(db => searchPage(db, scope, query, contracts, EXPORT_PAGE))
      // The first page is read before the answer begins: a bad filter is refused as anywhere else.
      const first = await readPage(request.query)
      async function* lines(): AsyncGenerator<string> {
        yield `${CSV_MARK}${csvLine(CSV_HEAD)}`
        for (let page = first; ; ) {
          const names = await accountNames(pool, page.notifications)
          yield page.notifications.flatMap(found => csvRows(toRow(found, names)).map(csvLine)).join('')
          if (page.next === null) return
          page = await readPage({ ...request.query, cursor: page.next })
        }
      }
      const name = `notificacoes-${brazilianDate(new Date()).slice(0, 10).split('/').reverse().join('-')}.csv`
      return (
        asDownload(reply, 'text/csv; charset=utf-8', name)
          // One page at a time: the next one is read once the browser has taken this one.
          .send(Readable.from(lines(), { highWaterMark: 1 }))
      )
    },
  )
}

const EXPORT_PAGE: PageSize = { notifications: 500, batch: 500, batches: 4 }

const toRow = (found: FoundNotification, names: ReadonlyMap<string, string>): NotificationRow => ({
  id: found.id,
  code: found.code,
  account: names.get(found.account) ?? '',
  customId: found.customId,
  recipientName: found.recipientName,
  subject: found.subject,
  acceptedAt: found.acceptedAt.toISOString(),
  deliveries: channelModules.flatMap(module =>
    found.deliveries
      .filter(({ channel }) => channel === module.channel)
      .map(status => {
        const { label, at } = lastStep(status, module)
        const { recipient, state } = status
        return { channel: module.wire, recipient, state, label, tone: toneOf(status), at: at.toISOString() }
      }),
  ),
})

const CSV_HEAD = [
  'idEmail',
  'codEmail',
  'conta',
  'customID',
  'nome',
  'assunto',
  'aceita em',
  'canal',
  'destinatário',
  'situação',
  'desde',
]

const csvRows = (row: NotificationRow): string[][] =>
  row.deliveries.map(delivery => [
    row.id,
    String(row.code),
    row.account,
    row.customId ?? '',
    row.recipientName ?? '',
    row.subject ?? '',
    brazilianDate(new Date(row.acceptedAt)),
    delivery.channel,
    delivery.recipient ?? '',
    delivery.label,
    brazilianDate(new Date(delivery.at)),
  ])
