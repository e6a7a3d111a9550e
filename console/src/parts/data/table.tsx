import { Link, type LinkProps } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useWords } from '../../app/language.js'
import { Button } from '../form/button.js'
import { partWords } from '../words.js'

export interface Column<Row> {
  name: string
  head: ReactNode
  cell(row: Row): ReactNode
  /** Columns that a phone has no room for. */
  wideOnly?: boolean
  /** Numbers stand at the right, so that their digits line up. */
  number?: boolean
}

interface TableProps<Row> {
  /** For screen readers: what the rows are. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  /** Where a row leads: the whole row can be clicked, and the first cell is the link. */
  linkOf?(row: Row): LinkProps
  /** Shown where there are no rows. */
  empty: ReactNode
  more?: { has: boolean; loading: boolean; load(): void } | undefined
}

/** A list that may be long: the head stays in sight, and the next page follows the last row. */
export function Table<Row>({ label, columns, rows, keyOf, linkOf, empty, more }: TableProps<Row>) {
  const words = useWords(partWords)
  const hasMore = more?.has === true
  return (
    <div className="overflow-clip rounded-xl border border-line bg-surface shadow-card">
      {rows.length === 0 ? (
        !hasMore && empty
      ) : (
        <table className="w-full border-collapse text-left">
          <caption className="sr-only">{label}</caption>
          <thead className="sticky top-[var(--header)] z-10 bg-surface">
            <tr className="border-b border-line text-[0.85rem] text-muted">
              {columns.map(({ name, head, wideOnly, number }) => (
                <th
                  key={name}
                  scope="col"
                  className={`px-3 py-2.5 font-medium first:pl-4 last:pr-4 ${cellClass(wideOnly, number)}`}
                >
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr
                key={keyOf(row)}
                className={`relative border-b border-line last:border-0 ${linkOf === undefined ? '' : 'hover:bg-sunken'}`}
              >
                {columns.map(({ name, cell, wideOnly, number }, index) => (
                  <td key={name} className={`px-3 py-2.5 align-top first:pl-4 last:pr-4 ${cellClass(wideOnly, number)}`}>
                    {index === 0 && linkOf !== undefined ? (
                      <Link {...linkOf(row)} className="font-medium text-text after:absolute after:inset-0">
                        {cell(row)}
                      </Link>
                    ) : (
                      cell(row)
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {hasMore && (
        <div className="flex justify-center border-t border-line p-3">
          <Button busy={more.loading} onClick={more.load}>
            {rows.length === 0 ? words.searching : words.more}
          </Button>
        </div>
      )}
    </div>
  )
}

const cellClass = (wideOnly = false, number = false): string =>
  `${wideOnly ? 'max-md:hidden' : ''} ${number ? 'text-right tabular-nums' : ''}`
