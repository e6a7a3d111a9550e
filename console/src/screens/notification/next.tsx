import type { ShownNotification } from '../../../../src/http/console/notifications/notification-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon } from '../../parts/data/channel.js'
import { Button } from '../../parts/form/button.js'
import { Card } from '../../parts/shell/page.js'
import type { Act } from './decisions.js'
import { words as screenWords } from './words.js'

const STEP_DECISIONS = ['release', 'cancel'] as const

/** The steps that are still to come, and what a person may do about each. */
export function Coming({ shown, onAct }: { shown: ShownNotification; onAct(act: Act): void }) {
  const words = useWords(screenWords)
  return (
    <Card title={words.next}>
      {shown.coming.length === 0 ? (
        <p className="text-muted">{words.nothingNext}</p>
      ) : (
        <ul aria-label={words.next} className="flex flex-col gap-3">
          {shown.coming.map(step => {
            const allowed = shown.lanes.find(({ channel }) => channel === step.channel)?.decisions ?? []
            return (
              <li key={step.channel} className="flex flex-wrap items-center gap-x-3 gap-y-2">
                <ChannelIcon name={step.channel} size={18} />
                <span className="min-w-0 flex-1 basis-48 first-letter:uppercase">{step.text}</span>
                <span className="flex flex-wrap gap-1.5">
                  {STEP_DECISIONS.filter(decision => allowed.includes(decision)).map(kind => (
                    <Button
                      key={kind}
                      size="small"
                      look={kind === 'cancel' ? 'danger' : 'plain'}
                      onClick={() => onAct({ kind, channel: step.channel })}
                    >
                      {words.decisions[kind].label}
                    </Button>
                  ))}
                </span>
              </li>
            )
          })}
        </ul>
      )}
    </Card>
  )
}

/** What the recipient wrote, by whichever channel. */
export function Replies({ shown }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const replies = shown.events.filter(({ reply }) => reply !== null)
  return (
    <Card title={words.replies}>
      {replies.length === 0 ? (
        <p className="text-muted">{words.noReplies}</p>
      ) : (
        <ul className="flex flex-col gap-3">
          {replies.map(({ seq, channel, reply, at, label }) => (
            <li key={seq} className="flex gap-3">
              {channel !== null && <ChannelIcon name={channel} size={18} />}
              <div className="min-w-0">
                <p className="rounded-lg rounded-tl-none bg-accent-soft px-3 py-1.5 wrap-anywhere whitespace-pre-wrap">{reply}</p>
                <p className="mt-1 text-[0.87rem] text-muted">
                  {label} · {dates.long(at)}
                </p>
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
