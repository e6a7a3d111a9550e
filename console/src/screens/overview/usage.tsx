import type { Overview } from '../../../../src/http/console/operation/overview-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { ChannelName } from '../../parts/data/channel.js'
import { Card } from '../../parts/shell/page.js'
import { words as screenWords } from './words.js'

/** What carriers took in this month, and what they are estimated to charge. */
export function Usage({ usage }: Pick<Overview, 'usage'>) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <Card title={words.usage} flush>
      <ul>
        {usage.map(({ channel, carrier, units, unit, cost }) => (
          <li
            key={`${channel} ${carrier}`}
            className="flex items-center justify-between gap-3 border-b border-line px-4 py-2.5 last:border-0"
          >
            <span className="min-w-0">
              <ChannelName name={channel} />
              <span className="block truncate text-[0.87rem] text-muted">{carrier}</span>
            </span>
            <span className="text-right tabular-nums">
              {words.reais(dates.number(cost))}
              <span className="block text-[0.87rem] text-muted">
                {dates.number(units)} {unit}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
