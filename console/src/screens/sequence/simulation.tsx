import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SequenceStepWire, SimulateBody, Simulated } from '../../../../src/http/console/sending/sequence-schema.js'
import { api, withQuery } from '../../api/client.js'
import { type OneAccount, useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon, ChannelName, useChannel } from '../../parts/data/channel.js'
import { inputClass } from '../../parts/form/field.js'
import { useSettled } from '../../parts/form/use-settled.js'
import { Card } from '../../parts/shell/page.js'
import { ErrorState } from '../../parts/shell/states.js'
import { words as screenWords } from './words.js'

type Reaction = SimulateBody['reactions'][number]
const outcomes = ['silent', 'delivered', 'read', 'confirmed', 'failed'] as const

/** Plays a sample notification through the steps that are on the screen. */
export function Simulation({ scope, steps }: { scope: OneAccount; steps: readonly SequenceStepWire[] }) {
  const words = useWords(screenWords)
  const { channels } = useInstallation()
  const [reactions, setReactions] = useState<readonly Reaction[]>(() =>
    channels.map(({ name }) => ({ channel: name, outcome: 'silent', minutes: 5 })),
  )
  const [chosen, setChosen] = useState<ReadonlySet<string>>(() => new Set(channels.map(({ name }) => name)))
  const asked = useSettled(
    JSON.stringify({ steps, reactions: reactions.filter(({ channel }) => chosen.has(channel)) } satisfies {
      steps: readonly SequenceStepWire[]
      reactions: Reaction[]
    }),
    200,
  )
  const { data, error } = useQuery({
    queryKey: ['fixed', 'simulation', scope.account, asked],
    queryFn: () => api.post<Simulated>(withQuery('/sequence/simulation', { ...scope }), JSON.parse(asked)),
    placeholderData: keepPreviousData,
  })
  const change = (channel: string, changes: Partial<Reaction>): void =>
    setReactions(all => all.map(reaction => (reaction.channel === channel ? { ...reaction, ...changes } : reaction)))
  return (
    <Card title={words.simulation}>
      <p className="text-muted">{words.simulationAbout}</p>
      <ul className="mt-3 flex flex-col divide-y divide-line">
        {reactions.map(reaction => (
          <Sample
            key={reaction.channel}
            reaction={reaction}
            isOn={chosen.has(reaction.channel)}
            onToggle={isOn =>
              setChosen(all => new Set(isOn ? [...all, reaction.channel] : [...all].filter(name => name !== reaction.channel)))
            }
            onChange={changes => change(reaction.channel, changes)}
          />
        ))}
      </ul>
      <h3 className="mt-4 mb-2 font-semibold">{words.story}</h3>
      {error !== null ? (
        <ErrorState error={error} />
      ) : chosen.size === 0 ? (
        <p className="text-muted">{words.nothing}</p>
      ) : (
        data !== undefined && <Story simulated={data} />
      )}
    </Card>
  )
}

function Sample({
  reaction: { channel, outcome, minutes },
  isOn,
  onToggle,
  onChange,
}: {
  reaction: Reaction
  isOn: boolean
  onToggle(isOn: boolean): void
  onChange(changes: Partial<Reaction>): void
}) {
  const words = useWords(screenWords)
  const { label } = useChannel(channel)
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 py-2">
      <label className="flex min-h-9 w-36 items-center gap-2">
        <input
          type="checkbox"
          checked={isOn}
          aria-label={words.includes(label)}
          onChange={event => onToggle(event.target.checked)}
          className="size-4.5 shrink-0 accent-[var(--accent)]"
        />
        <ChannelName name={channel} />
      </label>
      <select
        aria-label={words.outcome(label)}
        value={outcome}
        disabled={!isOn}
        onChange={event => onChange({ outcome: event.target.value as Reaction['outcome'] })}
        className={`${inputClass} w-44! shrink-0`}
      >
        {outcomes.map(value => (
          <option key={value} value={value}>
            {words.outcomes[value]}
          </option>
        ))}
      </select>
      {outcome !== 'silent' && (
        <span className="flex items-center gap-2 whitespace-nowrap text-muted">
          <input
            type="number"
            min={0}
            max={525_600}
            aria-label={words.after(label)}
            value={minutes}
            disabled={!isOn}
            onChange={event => onChange({ minutes: Math.min(525_600, Math.max(0, Math.round(Number(event.target.value)))) })}
            className={`${inputClass} w-20!`}
          />
          {words.afterShort}
        </span>
      )}
    </li>
  )
}

const tones: Readonly<Record<string, string>> = {
  failed: 'text-bad',
  cancelled: 'text-muted',
  delivered: 'text-good',
  read: 'text-good',
  confirmed: 'text-good',
}

function Story({ simulated: { start, events } }: { simulated: Simulated }) {
  const words = useWords(screenWords)
  const kinds = words.kinds as Readonly<Record<string, string>>
  // A release and the send that follows it are one thing to the reader: the reason stands with the send.
  const shown = events.flatMap((event, index) => {
    if (event.type === 'released') return []
    const before = events[index - 1]
    const reason = event.type === 'sent' && before?.type === 'released' ? before.reason : event.reason
    return [{ ...event, reason, place: index }]
  })
  return (
    <ol aria-label={words.story} className="flex flex-col gap-2">
      {shown.map(({ channel, type, at, reason, place }) => (
        <li key={place} className="grid grid-cols-[4.2rem_1.25rem_1fr] items-start gap-2">
          <span className="text-right text-muted tabular-nums">
            {offset(new Date(at).getTime() - new Date(start).getTime(), words.atOnce)}
          </span>
          <span className="mt-1">
            <ChannelIcon name={channel} />
          </span>
          <span>
            <span className={`font-medium ${tones[type] ?? ''}`}>{kinds[type] ?? type}</span>
            {reason !== null && <span className="block text-[0.93rem] text-muted">{reason}</span>}
          </span>
        </li>
      ))}
    </ol>
  )
}

/** +2 h 30 min */
function offset(ms: number, atOnce: string): string {
  const minutes = Math.round(ms / 60_000)
  if (minutes === 0) return atOnce
  const [days, hours, rest] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60), minutes % 60]
  const parts = [days > 0 && `${days} d`, hours > 0 && `${hours} h`, rest > 0 && `${rest} min`].filter(Boolean)
  return `+${parts.slice(0, 2).join(' ')}`
}
