import type { ChannelContract } from '../../../channels/channel-contract.js'
import type { Channel } from '../../../domain/channel.js'
import { refuse } from '../../../domain/errors.js'
import { readId } from '../../../domain/id.js'
import { isStorable } from '../../../domain/text/text.js'
import { type ListQuestion, listNotifications, type SearchedText } from '../../../store/console/notification-list.js'
import type { FoundPage } from '../../../store/notification/found-notifications.js'
import type { PageSize } from '../../../store/notification/search.js'
import type { Pool } from '../../../store/postgres.js'
import { readChannel } from '../../channel-name.js'
import { readMoment, readStatus } from '../../gw/search.js'
import type { SearchScope } from '../route.js'
import type { NotificationsQuery } from './notifications-schema.js'

/** No delivery of it reached anybody, and none is on its way. */
const NOT_REACHED = 'nao-alcancada'

export type Contracts = ReadonlyMap<Channel, ChannelContract>

/** Reads one page. The text is looked for where an index finds it, and only if nothing is found there in the subjects. */
export async function searchPage(
  pool: Pool,
  scope: SearchScope,
  query: NotificationsQuery,
  contracts: Contracts,
  size?: PageSize,
): Promise<FoundPage> {
  const question = readQuestion(scope, query)
  const typed = given(query, 'q')?.trim() ?? ''
  if (typed === '') return listNotifications(pool, question, size)
  const [kind, before] = readCursor(query)
  const subject: SearchedText = { subject: typed }
  if (kind === 'subject') return markSubject(await listNotifications(pool, { ...question, before, text: subject }, size))
  const found = await listNotifications(pool, { ...question, before, text: exactText(typed, contracts) }, size)
  // An empty page with a next one has not looked at all that the index finds.
  if (found.notifications.length > 0 || found.next !== null || before !== null || readId(typed) !== null) return found
  return markSubject(await listNotifications(pool, { ...question, text: subject }, size))
}

function exactText(typed: string, contracts: Contracts): SearchedText {
  const id = readId(typed)
  if (id !== null) return { id }
  // A number may be typed with its mask here; the API refuses that.
  const forms = [typed, typed.replace(/[\s().-]/g, '')]
  const read = [...contracts.values()].flatMap(({ readContact }) => forms.map(form => readContact(form)?.toLowerCase() ?? null))
  return { customId: typed, recipients: [...new Set(read.filter(form => form !== null))] }
}

/** The cursor of a search in the subjects says so: its next page must not look elsewhere. */
const SUBJECT = 's.'
const markSubject = ({ notifications, next }: FoundPage): FoundPage => ({
  notifications,
  next: next === null ? null : SUBJECT + next,
})

function readCursor({ cursor = '' }: NotificationsQuery): ['subject' | 'exact', string | null] {
  const isSubject = cursor.startsWith(SUBJECT)
  const id = isSubject ? cursor.slice(SUBJECT.length) : cursor
  return [isSubject ? 'subject' : 'exact', id === '' ? null : (readId(id) ?? refuse('badCursor'))]
}

function given(query: NotificationsQuery, name: 'q' | 'channel' | 'status' | 'from' | 'to'): string | null {
  const text = query[name] ?? ''
  if (!isStorable(text)) refuse('badParameter', name)
  return text === '' ? null : text
}

function readQuestion(scope: SearchScope, query: NotificationsQuery): ListQuestion {
  const read = <T>(name: Parameters<typeof given>[1], reader: (text: string) => T): T | null => {
    const text = given(query, name)
    return text === null ? null : reader(text)
  }
  const notReached = query.status === NOT_REACHED
  const question: ListQuestion = {
    ...scope,
    text: null,
    channel: read('channel', text => readChannel(text, { parameter: 'channel' })),
    status: notReached ? null : read('status', readStatus),
    notReached,
    fromMs: read('from', text => readMoment(text, 'from', 'start')),
    toMs: read('to', text => readMoment(text, 'to', 'end')),
    before: readCursor(query)[1],
  }
  const { fromMs, toMs } = question
  if (fromMs !== null && toMs !== null && toMs <= fromMs) refuse('emptySpan')
  return question
}
