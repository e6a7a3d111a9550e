import { lazy, Suspense, useState } from 'react'
import { useWords } from '../../app/language.js'
import { Button } from '../form/button.js'
import { Skeleton } from '../shell/states.js'
import { partWords } from '../words.js'

export interface ChartData {
  label: string
  /** One entry for each span. */
  spans: readonly { at: string; label: string }[]
  series: readonly { name: string; label: string; color: string; values: readonly number[] }[]
}

/** Loaded when the first chart is shown: most visits never need it. */
const Drawing = lazy(() => import('./chart-drawing.js'))

/** Numbers over time as a drawing, or as the table that says the same to everybody. */
export function Chart(data: ChartData) {
  const words = useWords(partWords)
  const [asTable, setAsTable] = useState(false)
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <ul className="flex flex-wrap gap-x-4 gap-y-1 text-[0.9rem]">
          {data.series.map(({ name, label, color }) => (
            <li key={name} className="flex items-center gap-1.5">
              <span className="size-2.5 rounded-sm" style={{ background: color }} aria-hidden="true" />
              {label}
            </li>
          ))}
        </ul>
        <Button size="small" look="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? words.tableChart : words.chartTable}
        </Button>
      </div>
      {asTable ? (
        <ChartTable {...data} />
      ) : (
        <Suspense fallback={<Skeleton rows={5} />}>
          <Drawing {...data} />
        </Suspense>
      )}
    </div>
  )
}

function ChartTable({ label, spans, series }: ChartData) {
  const words = useWords(partWords)
  return (
    <section aria-label={label} tabIndex={0} className="max-h-80 overflow-auto rounded-lg border border-line">
      <table className="w-full text-[0.93rem]">
        <caption className="sr-only">{label}</caption>
        <thead className="sticky top-0 bg-surface">
          <tr className="text-muted">
            <th scope="col" className="px-3 py-1.5 text-left font-medium">
              {words.when}
            </th>
            {series.map(({ name, label: head }) => (
              <th key={name} scope="col" className="px-3 py-1.5 text-right font-medium">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {spans.map((span, index) => (
            <tr key={span.at} className="border-t border-line">
              <th scope="row" className="px-3 py-1 text-left font-normal whitespace-nowrap">
                {span.label}
              </th>
              {series.map(({ name, values }) => (
                <td key={name} className="px-3 py-1 text-right tabular-nums">
                  {values[index]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
