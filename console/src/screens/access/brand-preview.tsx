import { useQuery } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { AccountDetails } from '../../../../src/http/console/access/accounts-schema.js'
import { apiUrl } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { buttonClass } from '../../parts/form/button.js'
import { Segments } from '../../parts/form/field.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { draftCheck } from './queries.js'
import { words as screenWords } from './words.js'

/** The sample follows the typing, a moment later. */
const PAUSE_MS = 400

/** The account as recipients will see it, before it is saved. A draft that is refused keeps the last good picture and says why. */
export function BrandPreview({
  details: { id, logo, samples },
  draft,
}: {
  details: AccountDetails
  draft: Record<string, string>
}) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const [sample, setSample] = useState(samples[0]?.name ?? '')
  const text = usePaused(JSON.stringify(draft))
  const check = useQuery(draftCheck(id, samples[0]?.name ?? '', text))
  const [good, setGood] = useState('{}')
  useEffect(() => {
    if (check.data === true) setGood(text)
  }, [check.data, text])
  // The logo is not part of the draft: another one makes another address, so that the frame asks again.
  const address = `${apiUrl(`/accounts/${id}/samples/${sample}`, { draft: good })}#toolbar=0&navpanes=0&view=FitH&${logo ?? ''}`
  return (
    <Card
      title={words.preview}
      actions={
        <Segments
          label={words.preview}
          value={sample}
          choices={samples.map(({ name, label }) => ({ value: name, label: label[0]!.toUpperCase() + label.slice(1) }))}
          onChoose={setSample}
        />
      }
    >
      <div className="flex flex-col gap-3">
        <FormError message={check.error === null ? null : messageOf(check.error, unreachable)} />
        <iframe
          key={`${sample} ${logo}`}
          title={words.previewOf(samples.find(({ name }) => name === sample)?.label ?? sample)}
          src={address}
          className="h-[36rem] w-full rounded-lg border border-line bg-white"
        />
        <a href={address} target="_blank" rel="noreferrer" className={`${buttonClass('quiet', 'small')} self-start`}>
          <ExternalLink size={15} aria-hidden="true" />
          {words.openPreview}
        </a>
      </div>
    </Card>
  )
}

function usePaused(value: string): string {
  const [paused, setPaused] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return paused
}
