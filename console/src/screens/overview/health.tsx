import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Overview } from '../../../../src/http/console/operation/overview-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge, type Tone } from '../../parts/data/badge.js'
import { ChannelIcon, ChannelName } from '../../parts/data/channel.js'
import { Card } from '../../parts/shell/page.js'
import { words as screenWords } from './words.js'

const waitingTone: Record<Overview['waiting'][number]['state'], Tone> = {
  queued: 'busy',
  uncertain: 'warn',
  unresolved: 'warn',
  dead: 'bad',
}

export function Waiting({ waiting }: Pick<Overview, 'waiting'>) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <Card title={words.waiting} flush={waiting.length > 0}>
      {waiting.length === 0 ? (
        <p className="text-muted">{words.nothingWaits}</p>
      ) : (
        <ul>
          {waiting.map(({ channel, state, count, more, oldest }) => (
            <li key={`${channel} ${state}`} className="border-b border-line last:border-0">
              <Link
                to="/notifications"
                search={{ channel, status: state }}
                className="flex items-center justify-between gap-3 px-4 py-2.5 hover:bg-sunken"
              >
                <span className="min-w-0">
                  <ChannelName name={channel} />
                  {oldest !== null && <span className="block text-[0.87rem] text-muted">{words.oldest(dates.age(oldest))}</span>}
                </span>
                <Badge tone={waitingTone[state]}>
                  {more ? words.atLeast(dates.number(count)) : dates.number(count)} · {words.states[state]}
                </Badge>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const carrierTone: Record<NonNullable<Overview['carriers']>[number]['state'], Tone> = {
  open: 'good',
  paused: 'warn',
  closed: 'bad',
}

export function Carriers({ carriers }: { carriers: NonNullable<Overview['carriers']> }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <Card title={words.carriers} flush={carriers.length > 0}>
      {carriers.length === 0 ? (
        <p className="text-muted">{words.noCarriers}</p>
      ) : (
        <ul>
          {carriers.map(({ channel, carrier, state, sent, failed }) => (
            <li key={`${channel} ${carrier}`} className="border-b border-line last:border-0">
              <Link to="/carriers" className="flex items-center justify-between gap-3 px-4 py-2.5 hover:bg-sunken">
                <span className="flex min-w-0 items-start gap-2">
                  <span className="mt-0.5">
                    <ChannelIcon name={channel} />
                  </span>
                  <span className="min-w-0">
                    <span className="block truncate">{nameOf(carrier)}</span>
                    <span className="block text-[0.87rem] text-muted">
                      {words.carrierCounts(dates.number(sent), dates.number(failed))}
                    </span>
                  </span>
                </span>
                <span className="shrink-0">
                  <Badge tone={carrierTone[state]}>{words.carrierStates[state]}</Badge>
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

/** As the screen of carriers names them: without the mark of an account, and of the simulator, which serves all or none. */
const nameOf = (carrier: string): string =>
  carrier
    .replace(/^simulator\//, '')
    .replace(/\/[0-9a-f]{8,}$/, '')
    .toUpperCase()

export function Webhooks({ webhooks }: Pick<Overview, 'webhooks'>) {
  const words = useWords(screenWords)
  const dates = useDates()
  const { active, failing, suspended, oldest } = webhooks
  const isEmpty = active + suspended === 0
  return (
    <Card title={words.webhooks} flush={!isEmpty}>
      {isEmpty ? (
        <p className="text-muted">{words.noWebhooks}</p>
      ) : (
        <Link to="/webhooks" className="block hover:bg-sunken">
          <dl>
            <Line name={words.webhooksActive}>{dates.number(active)}</Line>
            <Line name={words.webhooksFailing}>{failing > 0 ? <Badge tone="warn">{dates.number(failing)}</Badge> : 0}</Line>
            <Line name={words.webhooksSuspended}>{suspended > 0 ? <Badge tone="bad">{dates.number(suspended)}</Badge> : 0}</Line>
            <Line name={words.webhooksOldest}>{oldest === null ? '–' : dates.age(oldest)}</Line>
          </dl>
        </Link>
      )}
    </Card>
  )
}

const Line = ({ name, children }: { name: string; children: ReactNode }) => (
  <div className="flex justify-between gap-3 border-b border-line px-4 py-2 last:border-0">
    <dt className="text-muted">{name}</dt>
    <dd className="tabular-nums">{children}</dd>
  </div>
)
