import type { Decision, Lane } from '../../../../src/http/console/notifications/notification-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { ChannelName, useChannel } from '../../parts/data/channel.js'
import { Button } from '../../parts/form/button.js'
import type { Act } from './decisions.js'
import { words as screenWords } from './words.js'

/** Steps that wait are decided about where it says what comes next. */
const HERE: readonly Decision[] = ['retry', 'sent', 'failed']

/** Where each channel stands now, and why. */
export function Lanes({ lanes, onAct }: { lanes: readonly Lane[]; onAct(act: Act): void }) {
  const words = useWords(screenWords)
  return (
    <section aria-label={words.lanes}>
      <ul className="grid gap-3 sm:grid-cols-[repeat(auto-fit,minmax(11rem,1fr))]">
        {lanes.map(lane => (
          <LaneCard key={lane.channel} lane={lane} onAct={onAct} />
        ))}
      </ul>
    </section>
  )
}

function LaneCard({ lane, onAct }: { lane: Lane; onAct(act: Act): void }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const { color } = useChannel(lane.channel)
  const decisions = lane.decisions.filter(decision => HERE.includes(decision))
  return (
    <li
      className="flex min-w-0 flex-col gap-1.5 rounded-xl border border-t-4 border-line bg-surface p-3 shadow-card"
      style={{ borderTopColor: color }}
    >
      <div className="font-semibold">
        <ChannelName name={lane.channel} />
      </div>
      <div>
        <Badge tone={lane.tone}>{lane.label}</Badge>
      </div>
      <p className="text-[0.87rem] text-muted tabular-nums">{dates.long(lane.since)}</p>
      {lane.recipient !== null && <p className="text-[0.93rem] wrap-anywhere">{lane.recipient}</p>}
      {lane.reason !== null && <p className="text-[0.87rem] wrap-anywhere text-muted">{lane.reason}</p>}
      {lane.carrier !== null && (
        <p className="text-[0.87rem] wrap-anywhere text-muted">
          {lane.carrier} · {words.attempts(lane.attempt)}
        </p>
      )}
      {decisions.length > 0 && (
        <div className="mt-auto flex flex-wrap gap-1.5 pt-1.5">
          {decisions.map(kind => (
            <Button key={kind} size="small" onClick={() => onAct({ kind, channel: lane.channel })}>
              {words.decisions[kind].label}
            </Button>
          ))}
        </div>
      )}
    </li>
  )
}
