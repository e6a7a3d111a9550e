import { useQuery } from '@tanstack/react-query'
import { CircleCheck, CircleDashed, CircleX, Download, RefreshCw, ShieldCheck } from 'lucide-react'
import type { ShownNotification, VerifiedFile } from '../../../../src/http/console/notifications/notification-schema.js'
import { apiUrl } from '../../api/client.js'
import { verification } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Badge } from '../../parts/data/badge.js'
import { Button, buttonClass } from '../../parts/form/button.js'
import { Card } from '../../parts/shell/page.js'
import { ErrorState } from '../../parts/shell/states.js'
import { words as screenWords } from './words.js'

const FILES = [
  { name: 'proof', path: 'proof.pdf' },
  { name: 'report', path: 'report.pdf' },
  { name: 'bundle', path: 'bundle.zip' },
] as const
const tones = { holds: 'good', broken: 'bad', missing: 'quiet', tooLarge: 'warn' } as const

/** The documents to download, each with what the verifier says of it. */
export function ProofTab({ shown }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const { data, error, refetch, isFetching } = useQuery(verification(shown.id))
  return (
    <div className="flex flex-col gap-4">
      <div className="flex flex-wrap gap-2">
        <Button busy={isFetching} icon={<RefreshCw size={16} />} onClick={() => refetch()}>
          {words.verifyAgain}
        </Button>
        <a href={shown.verificationUrl} target="_blank" rel="noopener noreferrer" className={buttonClass()}>
          <ShieldCheck size={16} aria-hidden="true" />
          {words.publicPage}
        </a>
      </div>
      {error !== null && <ErrorState error={error} onRetry={refetch} />}
      <div className="grid items-start gap-4 lg:grid-cols-3">
        {FILES.map(({ name, path }) => (
          <FileCard
            key={name}
            name={name}
            href={apiUrl(`/notifications/${shown.id}/${path}`)}
            verified={data?.files.find(file => file.name === name)}
          />
        ))}
      </div>
    </div>
  )
}

function FileCard({ name, href, verified }: { name: VerifiedFile['name']; href: string; verified: VerifiedFile | undefined }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const exists = verified !== undefined && verified.state !== 'missing'
  return (
    <Card title={words.files[name].title}>
      <div className="flex flex-col items-start gap-3">
        <p className="text-muted">{words.files[name].about}</p>
        {verified === undefined ? (
          <Badge tone="busy">{words.states.checking}</Badge>
        ) : (
          <Badge tone={tones[verified.state]}>{words.states[verified.state]}</Badge>
        )}
        {verified?.state === 'tooLarge' && <p className="text-[0.93rem]">{words.byCommand}</p>}
        {verified !== undefined && verified.detail !== '' && (
          <p className="text-[0.93rem] wrap-anywhere text-muted">{verified.detail}</p>
        )}
        {exists && (
          <a href={href} download className={buttonClass('primary', 'small')}>
            <Download size={16} aria-hidden="true" />
            {words.download} ({dates.number(Math.ceil(verified.size / 1024))} kB)
          </a>
        )}
        {verified !== undefined && verified.steps.length > 0 && <Steps steps={verified.steps} />}
      </div>
    </Card>
  )
}

function Steps({ steps }: { steps: VerifiedFile['steps'] }) {
  const words = useWords(screenWords)
  return (
    <details className="w-full text-[0.93rem]">
      <summary className="cursor-pointer text-muted hover:text-text">{words.steps}</summary>
      <ul className="mt-2 flex flex-col gap-2">
        {steps.map(({ title, state, detail }) => (
          <li key={title} className="flex gap-2">
            <StepIcon state={state} />
            <div className="min-w-0">
              <p className="font-medium">
                {title} <span className="font-normal text-muted">({words.stepStates[state]})</span>
              </p>
              <p className="text-[0.87rem] wrap-anywhere text-muted">{detail}</p>
            </div>
          </li>
        ))}
      </ul>
    </details>
  )
}

function StepIcon({ state }: { state: VerifiedFile['steps'][number]['state'] }) {
  const props = { size: 17, className: 'mt-0.5 shrink-0', 'aria-hidden': true } as const
  if (state === 'holds') return <CircleCheck {...props} className={`${props.className} text-good`} />
  if (state === 'broken') return <CircleX {...props} className={`${props.className} text-bad`} />
  return <CircleDashed {...props} className={`${props.className} text-muted`} />
}
