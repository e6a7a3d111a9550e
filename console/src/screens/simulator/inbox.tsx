import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ChevronLeft, Inbox, MousePointerClick, Search } from 'lucide-react'
import { useState } from 'react'
import type { InboxMessage } from '../../../../src/http/console/simulator/simulator-schema.js'
import { simulatorInbox } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useInstallation, useScope } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon } from '../../parts/data/channel.js'
import { Button } from '../../parts/form/button.js'
import { Select, TextField } from '../../parts/form/field.js'
import { Card } from '../../parts/shell/page.js'
import { EmptyState, ErrorState, Skeleton } from '../../parts/shell/states.js'
import { Message } from './message.js'
import { words as screenWords } from './words.js'

/** The messages at the left and the one that is open at the right; on a phone one or the other. */
export function InboxTab() {
  const words = useWords(screenWords)
  const { message, to, channel, notification } = useSearch({ from: '/shell/simulator' })
  const { account } = useScope()
  const filters = {
    ...(to === undefined ? {} : { to }),
    ...(channel === undefined ? {} : { channel }),
    ...(notification === undefined ? {} : { notification }),
  }
  const { data, error, refetch } = useQuery(simulatorInbox({ ...filters, ...(account === undefined ? {} : { account }) }))
  const isFiltered = Object.keys(filters).length > 0
  if (error !== null) return <ErrorState error={error} onRetry={refetch} />
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[20rem_minmax(0,1fr)]">
      <div className={`min-w-0 flex-col gap-3 ${message === undefined ? 'flex' : 'hidden lg:flex'}`}>
        <Filters />
        <Card flush>
          {data === undefined ? (
            <Skeleton />
          ) : data.messages.length === 0 ? (
            <EmptyState icon={Inbox} title={isFiltered ? words.none : words.empty}>
              {isFiltered ? undefined : words.emptyAbout}
            </EmptyState>
          ) : (
            <ul aria-label={words.inbox} className="max-h-[48rem] divide-y divide-line overflow-y-auto">
              {data.messages.map(found => (
                <Entry key={found.id} message={found} isOpen={found.id === message} />
              ))}
            </ul>
          )}
        </Card>
      </div>
      <div className={`min-w-0 ${message === undefined ? 'hidden lg:block' : ''}`}>
        {message === undefined ? (
          <Card>
            <EmptyState icon={MousePointerClick} title={words.choose}>
              {words.chooseAbout}
            </EmptyState>
          </Card>
        ) : (
          <div className="flex flex-col gap-3">
            <Link
              to="/simulator"
              search={({ message: _, ...rest }) => rest}
              className="inline-flex items-center gap-1 text-accent hover:underline lg:hidden"
            >
              <ChevronLeft size={15} aria-hidden="true" />
              {words.back}
            </Link>
            <Message key={message} id={message} />
          </div>
        )}
      </div>
    </div>
  )
}

function Entry({ message, isOpen }: { message: InboxMessage; isOpen: boolean }) {
  const dates = useDates()
  return (
    <li>
      <Link
        to="/simulator"
        search={previous => ({ ...previous, message: message.id })}
        aria-current={isOpen ? 'true' : undefined}
        className="flex gap-3 px-4 py-2.5 hover:bg-sunken aria-[current]:bg-accent-soft"
      >
        <span className="mt-0.5">
          <ChannelIcon name={message.channel} size={18} />
        </span>
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline justify-between gap-2">
            <span className="truncate font-medium">{message.to}</span>
            <time dateTime={message.receivedAt} className="shrink-0 text-[0.8rem] text-muted tabular-nums">
              {dates.short(message.receivedAt)}
            </time>
          </span>
          <span className="line-clamp-2 text-[0.93rem] wrap-anywhere text-muted">{message.subject}</span>
        </span>
      </Link>
    </li>
  )
}

function Filters() {
  const words = useWords(screenWords)
  const { channels } = useInstallation()
  const { to = '', channel = '' } = useSearch({ from: '/shell/simulator' })
  const navigate = useNavigate({ from: '/simulator' })
  const [typed, setTyped] = useState(to)
  const choose = (name: 'to' | 'channel', value: string) =>
    navigate({
      search: ({ [name]: _, notification: __, ...rest }) => (value === '' ? rest : { ...rest, [name]: value }),
      replace: true,
    })
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={event => {
        event.preventDefault()
        void choose('to', typed.trim())
      }}
    >
      <Select
        label={words.channel}
        hideLabel
        value={channel}
        onChoose={value => choose('channel', value)}
        choices={[{ value: '', label: words.allChannels }, ...channels.map(({ name, label }) => ({ value: name, label }))]}
      />
      <div className="flex gap-2">
        <TextField
          label={words.to}
          hideLabel
          type="search"
          placeholder={words.toHint}
          className="min-w-0 flex-1"
          value={typed}
          onChange={event => setTyped(event.target.value)}
        />
        <Button type="submit" icon={<Search size={16} />}>
          {words.search}
        </Button>
      </div>
    </form>
  )
}
