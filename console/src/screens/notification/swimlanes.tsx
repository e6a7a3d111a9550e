import type { CSSProperties } from 'react'
import type { LaneEvent, ShownNotification } from '../../../../src/http/console/notifications/notification-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import type { Tone } from '../../parts/data/badge.js'
import { ChannelIcon, ChannelName } from '../../parts/data/channel.js'
import { Card } from '../../parts/shell/page.js'
import { words as screenWords } from './words.js'

const edges: Record<Tone, string> = {
  good: 'border-l-good',
  bad: 'border-l-bad',
  warn: 'border-l-warn',
  busy: 'border-l-busy',
  quiet: 'border-l-muted',
}
const COLUMNS = 'lg:grid lg:grid-cols-[5rem_repeat(var(--lanes),minmax(0,1fr))] lg:gap-x-3'

/** All events in their order, each in the lane of its channel. On a phone the lanes become icons on one line. */
export function Swimlanes({ shown: { lanes, events } }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const channels = lanes.map(({ channel }) => channel)
  const style = { '--lanes': channels.length } as CSSProperties
  return (
    <Card title={words.timeline}>
      <div className="relative" style={style}>
        <div aria-hidden="true" className={`pointer-events-none absolute inset-0 hidden ${COLUMNS}`}>
          <span />
          {channels.map(channel => (
            <span key={channel} className="-ml-1.5 border-l border-dashed border-line" />
          ))}
        </div>
        <div aria-hidden="true" className={`hidden pb-2 text-[0.93rem] font-medium ${COLUMNS}`}>
          <span />
          {channels.map(channel => (
            <ChannelName key={channel} name={channel} />
          ))}
        </div>
        <ol aria-label={words.timeline} className="relative flex flex-col gap-2">
          {events.map((event, index) => (
            <Row key={event.seq} event={event} before={events[index - 1]} lane={channels.indexOf(event.channel ?? '')} />
          ))}
        </ol>
      </div>
    </Card>
  )
}

function Row({ event, before, lane }: { event: LaneEvent; before: LaneEvent | undefined; lane: number }) {
  const dates = useDates()
  const [day, time] = dates.long(event.at).split(' ')
  const isNewDay = before === undefined || dates.long(before.at).split(' ')[0] !== day
  return (
    <li className={`flex flex-col gap-1 ${COLUMNS}`}>
      <time dateTime={event.at} className="flex gap-2 text-[0.87rem] text-muted tabular-nums lg:flex-col lg:gap-0 lg:pt-2">
        {isNewDay && <span className="text-[0.8rem] lg:font-medium">{day}</span>}
        {time}
      </time>
      <div
        className={`min-w-0 ${lane < 0 ? 'lg:col-[2/-1]' : 'lg:col-start-(--lane)'}`}
        style={{ '--lane': lane + 2 } as CSSProperties}
      >
        <EventCard event={event} />
      </div>
    </li>
  )
}

function EventCard({ event }: { event: LaneEvent }) {
  const words = useWords(screenWords)
  return (
    <div className={`rounded-lg border border-l-4 border-line bg-surface px-2.5 py-1.5 text-[0.93rem] ${edges[event.tone]}`}>
      <p className="flex items-start gap-1.5 font-medium wrap-anywhere">
        {event.channel !== null && (
          <span className="mt-0.5 lg:hidden">
            <ChannelIcon name={event.channel} size={15} />
          </span>
        )}
        <span className="min-w-0">{event.label}</span>
      </p>
      {event.reason !== null && <p className="text-[0.87rem] wrap-anywhere text-muted">{event.reason}</p>}
      {event.attempt !== null && (
        <p className="text-[0.8rem] wrap-anywhere text-muted">{words.attempt(event.attempt, event.carrier ?? '')}</p>
      )}
      {event.answer !== null && (
        <div className="mt-1 rounded bg-sunken px-2 py-1">
          <span className="sr-only">{words.answer}: </span>
          <code className="line-clamp-3 text-[0.8rem] wrap-anywhere whitespace-pre-wrap" title={words.answer}>
            {event.answer}
          </code>
        </div>
      )}
      {event.reply !== null && <p className="mt-1 rounded bg-accent-soft px-2 py-1 wrap-anywhere">{event.reply}</p>}
      <More event={event} />
    </div>
  )
}

function More({ event }: { event: LaneEvent }) {
  const words = useWords(screenWords)
  const { details, answer } = event
  const facts: [string, string][] = [
    [words.source, event.simulated ? `${event.source} (${words.simulated})` : event.source],
    [words.proofOf, event.proof],
    ...(answer === null ? [] : [[words.answer, answer] as [string, string]]),
    ...Object.entries(details).map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
    [words.hash, event.hash],
  ]
  return (
    <details className="mt-1 text-[0.87rem]">
      <summary className="cursor-pointer text-muted hover:text-text">
        {words.more}
        <span className="sr-only">: {event.label}</span>
      </summary>
      {event.occurredAt !== null && <p className="text-muted">{words.occurred(event.occurredAt)}</p>}
      <dl className="mt-1 flex flex-col gap-1">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt className="text-[0.8rem] text-muted">{name}</dt>
            <dd className="font-mono text-[0.8rem] wrap-anywhere whitespace-pre-wrap">{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
