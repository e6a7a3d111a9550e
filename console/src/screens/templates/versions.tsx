import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { TemplateDetail } from '../../../../src/http/console/sending/templates-schema.js'
import { templateVersion } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import type { OneAccount } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { Select } from '../../parts/form/field.js'
import { Card } from '../../parts/shell/page.js'
import { ErrorState, Skeleton } from '../../parts/shell/states.js'
import { type DiffLine, diffLines } from './diff.js'
import { words as screenWords } from './words.js'

/** Two versions side by side in one list: what went and what came. */
export function Versions({
  known,
  scope,
  onRestore,
}: {
  known: TemplateDetail
  scope: OneAccount
  onRestore(content: string): void
}) {
  const words = useWords(screenWords)
  const dates = useDates()
  const [from, setFrom] = useState(Math.max(1, known.version - 1))
  const [to, setTo] = useState(known.version)
  const before = useQuery(templateVersion(known.id, from, scope))
  const after = useQuery(templateVersion(known.id, to, scope))
  if (known.versions.length < 2)
    return (
      <Card>
        <p className="text-muted">{words.oneVersion}</p>
      </Card>
    )
  const choices = known.versions.map(({ version, createdAt }) => ({
    value: String(version),
    label: words.versionOf(version, dates.short(createdAt)),
  }))
  const error = before.error ?? after.error
  return (
    <Card>
      <div className="grid gap-3 sm:grid-cols-2">
        <Select label={words.from} value={String(from)} choices={choices} onChoose={value => setFrom(Number(value))} />
        <Select label={words.to} value={String(to)} choices={choices} onChoose={value => setTo(Number(value))} />
      </div>
      {error !== null ? (
        <ErrorState error={error} />
      ) : before.data === undefined || after.data === undefined ? (
        <Skeleton />
      ) : (
        <>
          <Difference lines={diffLines(before.data.content, after.data.content)} />
          {known.editable && from !== known.version && (
            <Button className="mt-4" onClick={() => onRestore(before.data.content)}>
              {words.restore(from)}
            </Button>
          )}
        </>
      )}
    </Card>
  )
}

const looks: Readonly<Record<DiffLine['kind'], string>> = {
  same: '',
  added: 'bg-good-soft text-good',
  removed: 'bg-bad-soft text-bad',
}

function Difference({ lines }: { lines: readonly DiffLine[] }) {
  const words = useWords(screenWords)
  if (lines.every(({ kind }) => kind === 'same')) return <p className="mt-4 text-muted">{words.same}</p>
  return (
    <ol
      aria-label={words.difference}
      className="mt-4 overflow-clip rounded-lg border border-line py-1 font-mono text-[0.87rem] leading-6"
    >
      {lines.map(({ kind, text }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line has no identity but its place
        <li key={place} className={`flex gap-2 px-2 ${looks[kind]}`}>
          <span aria-hidden="true" className="w-3 shrink-0 select-none">
            {kind === 'added' ? '+' : kind === 'removed' ? '−' : ''}
          </span>
          <span className="min-w-0 whitespace-pre-wrap wrap-anywhere">
            {kind !== 'same' && <span className="sr-only">{kind === 'added' ? words.added : words.removed}: </span>}
            {text}
          </span>
        </li>
      ))}
    </ol>
  )
}
