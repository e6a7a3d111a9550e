import type { BatchDetail } from '../../../../src/http/console/sending/bulk-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Card } from '../../parts/shell/page.js'
import { words as screenWords } from './words.js'

/** How far a batch is, how fast it goes, and how long the rest takes. */
export function Progress({ batch }: { batch: BatchDetail }) {
  const words = useWords(screenWords)
  const { number } = useDates()
  const { state, total, good, rejected, accepted, failed, perMinute, secondsLeft } = batch
  const isChecking = state === 'checking' || state === 'checked'
  const done = isChecking ? good + rejected : accepted + failed
  const of = isChecking ? total : good
  const text = isChecking ? words.checking(number(done), number(of)) : words.accepted(number(accepted), number(of))
  const left =
    secondsLeft === null
      ? null
      : secondsLeft < 60
        ? words.seconds(secondsLeft)
        : secondsLeft < 3_600
          ? words.minutes(Math.floor(secondsLeft / 60), secondsLeft % 60)
          : words.hours(Math.floor(secondsLeft / 3_600), Math.floor((secondsLeft % 3_600) / 60))
  const counts = [
    { label: words.lines, value: total, tone: '' },
    { label: words.good, value: good, tone: 'text-good' },
    { label: words.rejected, value: rejected, tone: rejected > 0 ? 'text-bad' : '' },
    { label: words.sentLines, value: accepted, tone: '' },
    { label: words.failed, value: failed, tone: failed > 0 ? 'text-bad' : '' },
  ]
  return (
    <Card title={words.progress}>
      <div className="flex flex-col gap-3">
        <div className="flex flex-wrap justify-between gap-x-4 gap-y-1">
          <p className="font-medium">{text}</p>
          {perMinute !== null && (
            <p className="text-muted tabular-nums">
              {left === null ? words.rate(number(perMinute)) : words.pace(number(perMinute), left)}
            </p>
          )}
        </div>
        <div
          role="progressbar"
          aria-label={words.progress}
          aria-valuenow={done}
          aria-valuemin={0}
          aria-valuemax={of}
          className="h-2.5 overflow-hidden rounded-full bg-sunken"
        >
          <div
            className="h-full rounded-full bg-accent transition-[width]"
            style={{ width: `${of === 0 ? 0 : (done / of) * 100}%` }}
          />
        </div>
        <dl className="grid grid-cols-2 gap-3 sm:grid-cols-5">
          {counts.map(({ label, value, tone }) => (
            <div key={label}>
              <dt className="text-[0.87rem] text-muted">{label}</dt>
              <dd className={`text-xl font-semibold tabular-nums ${tone}`}>{number(value)}</dd>
            </div>
          ))}
        </dl>
      </div>
    </Card>
  )
}
