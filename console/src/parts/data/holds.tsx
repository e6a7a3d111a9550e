import type { Holds as Held } from '../../../../src/http/console/operation/holds-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { partWords } from '../words.js'

/** What people hold back, and since when. */
export function Holds({ holds }: { holds: Held }) {
  const words = useWords(partWords)
  const dates = useDates()
  const lines = holds.map(({ channel, carrier, account, reason, since }) => {
    const what = [channel, carrier, account].filter(part => part !== null).join(', ')
    return words.held(what === '' ? words.heldAll : what, reason, dates.age(since))
  })
  return lines.map(line => <Notice key={line}>{line}</Notice>)
}

export function Notice({ children }: { children: string }) {
  return (
    <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-warn">
      {children}
    </p>
  )
}
