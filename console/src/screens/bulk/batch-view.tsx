import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Ban, Download, Pause, Play, Send } from 'lucide-react'
import { useState } from 'react'
import type { BatchDetail, StartBody } from '../../../../src/http/console/sending/bulk-schema.js'
import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'
import { api, apiUrl } from '../../api/client.js'
import { composeForm } from '../../api/queries.js'
import { useDates } from '../../app/dates.js'
import { useInstallation } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Table } from '../../parts/data/table.js'
import { Button, buttonClass } from '../../parts/form/button.js'
import { Dialog } from '../../parts/shell/dialog.js'
import { FormError } from '../../parts/shell/gate.js'
import { Card } from '../../parts/shell/page.js'
import { messageOf, Skeleton } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { BatchForm } from './batch-form.js'
import { type BulkDraft, draftOf, isSameDraft } from './draft.js'
import { Progress } from './progress.js'
import { words as screenWords } from './words.js'

type Act = 'start' | 'pause' | 'resume' | 'cancel'

/** One batch, from its columns to its result. */
export function BatchView({ batch }: { batch: BatchDetail }) {
  const words = useWords(screenWords)
  const { operator } = useInstallation()
  const mayChange = operator.role !== 'auditor'
  const isDraft = batch.startedAt === null && (batch.state === 'checking' || batch.state === 'checked')
  const isEdited = isDraft && mayChange
  // Until there is a message, every line lacks one: that is no error of the file.
  const isFresh = isEdited && Object.keys(batch.base).length === 0
  const { data } = useQuery({ ...composeForm({ account: batch.account, mode: batch.mode }), enabled: isEdited })
  const form = data === undefined ? null : withoutRecipients(data)
  // `from`: the form before the first change. null: the form shows the batch as it was last checked, by this person or another.
  const [edit, setEdit] = useState<{ from: BulkDraft; draft: BulkDraft } | null>(null)
  const stored = form === null ? null : draftOf(batch, form)
  const isSame = (one: BulkDraft, other: BulkDraft): boolean => isSameDraft(one, other, form!)
  // A change that was taken back is none: it must not hide the message that another person checked meanwhile.
  const isKept = edit !== null && stored !== null && (!isSame(edit.draft, edit.from) || isSame(edit.from, stored))
  const draft = isKept ? edit.draft : stored
  const mustCheck = draft !== null && !isSame(draft, stored!)
  return (
    <>
      {!isFresh && <Progress batch={batch} />}
      {batch.pausedBecause !== null && (
        <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn">{words.pausedBecause[batch.pausedBecause]}</p>
      )}
      {batch.expiredWhile !== null && (
        <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn">{words.expired[batch.expiredWhile]}</p>
      )}
      {mayChange && !isFresh && <Acts batch={batch} mustCheck={mustCheck} />}
      {!mayChange && <p className="rounded-lg bg-sunken px-3 py-2 text-muted">{words.readOnly}</p>}
      {!isFresh && <Errors batch={batch} />}
      {isEdited && draft === null && <Skeleton />}
      {isEdited && draft !== null && (
        <BatchForm
          batch={batch}
          form={form!}
          draft={draft}
          onChange={changed => setEdit({ from: isKept ? edit.from : stored!, draft: changed })}
          onChecked={checked => setEdit(now => (now?.draft === checked ? null : now))}
        />
      )}
      {isFresh && <Acts batch={{ ...batch, rejected: 0 }} mustCheck={mustCheck} />}
    </>
  )
}

/** The recipients come from the columns of the file, line by line. */
const withoutRecipients = (form: ComposeForm): ComposeForm => ({
  ...form,
  channels: form.channels.map(channel => ({ ...channel, fields: channel.fields.filter(({ required }) => required !== true) })),
})

/** `mustCheck`: the form shows another message than the one that would be sent. */
function Acts({ batch, mustCheck }: { batch: BatchDetail; mustCheck: boolean }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const dates = useDates()
  const toast = useToast()
  const queries = useQueryClient()
  const [asking, setAsking] = useState<'start' | 'cancel' | null>(null)
  // From the moment of the question on: a colleague may check other columns or another message meanwhile.
  const [revision, setRevision] = useState('')
  const told = { start: words.started, pause: words.paused, resume: words.resumed, cancel: words.cancelled }
  const act = useMutation({
    mutationFn: (name: Act) => api.post(`/bulk/${batch.id}/${name}`, name === 'start' ? ({ revision } satisfies StartBody) : {}),
    onSuccess: (_, name) => toast(told[name]),
    onSettled: () => {
      setAsking(null)
      void queries.invalidateQueries({ queryKey: ['live', 'bulk'] })
    },
  })
  const { state, good, rejected, failed, accepted } = batch
  const isOpen = ['checking', 'checked', 'sending', 'paused'].includes(state)
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap gap-2">
        {state === 'checked' && good > 0 && (
          <Button
            look="primary"
            icon={<Send size={17} aria-hidden="true" />}
            disabled={mustCheck}
            onClick={() => {
              setRevision(batch.revision)
              setAsking('start')
            }}
          >
            {words.startLines(dates.number(good))}
          </Button>
        )}
        {state === 'sending' && (
          <Button icon={<Pause size={17} aria-hidden="true" />} busy={act.isPending} onClick={() => act.mutate('pause')}>
            {words.pause}
          </Button>
        )}
        {state === 'paused' && (
          <Button
            look="primary"
            icon={<Play size={17} aria-hidden="true" />}
            busy={act.isPending}
            onClick={() => act.mutate('resume')}
          >
            {words.resume}
          </Button>
        )}
        {accepted > 0 && (
          <a className={buttonClass()} href={apiUrl(`/bulk/${batch.id}/result.csv`)} download>
            <Download size={17} aria-hidden="true" />
            {words.downloadResult}
          </a>
        )}
        {rejected + failed > 0 && !batch.erased && (
          <a className={buttonClass()} href={apiUrl(`/bulk/${batch.id}/rejects.csv`)} download>
            <Download size={17} aria-hidden="true" />
            {words.downloadRejects}
          </a>
        )}
        {isOpen && (
          <Button look="danger" icon={<Ban size={17} aria-hidden="true" />} onClick={() => setAsking('cancel')}>
            {words.cancel}
          </Button>
        )}
      </div>
      {mustCheck && state === 'checked' && good > 0 && (
        <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-warn">
          {words.mustCheck}
        </p>
      )}
      <FormError message={act.error === null ? null : messageOf(act.error, unreachable)} />
      <Dialog
        open={asking !== null}
        onClose={() => setAsking(null)}
        title={asking === 'cancel' ? words.cancelAsk : words.startAsk}
        about={
          asking === 'cancel'
            ? words.cancelAbout
            : `${words.startAbout(dates.number(good), batch.accountName)}${batch.mode === 'test' ? ` ${words.startTest}` : ''}`
        }
        actions={
          <>
            <Button onClick={() => setAsking(null)}>{words.notYet}</Button>
            <Button look={asking === 'cancel' ? 'danger' : 'primary'} busy={act.isPending} onClick={() => act.mutate(asking!)}>
              {asking === 'cancel' ? words.cancel : words.start}
            </Button>
          </>
        }
      />
    </div>
  )
}

function Errors({ batch }: { batch: BatchDetail }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const { errors, rejected, failed, state } = batch
  if (batch.erased) return <p className="text-muted">{words.erased}</p>
  if (errors.length === 0)
    return state === 'checked' ? <p className="rounded-lg bg-good-soft px-3 py-2 text-good">{words.noErrors}</p> : null
  return (
    <section aria-label={words.errors} className="flex flex-col gap-2">
      <h2 className="font-semibold">{words.errors}</h2>
      <p className="text-muted">{words.errorsAbout(dates.number(errors.length), dates.number(rejected + failed))}</p>
      <Table
        label={words.errors}
        rows={errors}
        keyOf={row => String(row.line)}
        empty={<Card>{words.noErrors}</Card>}
        columns={[
          { name: 'line', head: words.line, number: true, cell: row => dates.number(row.line) },
          {
            name: 'column',
            head: words.column,
            wideOnly: true,
            cell: row => <span className="inline-block min-w-28 wrap-anywhere">{row.column ?? '–'}</span>,
          },
          {
            name: 'error',
            head: words.error,
            cell: row => (
              <>
                {row.column !== null && <span className="block font-medium md:hidden">{row.column}</span>}
                <span className="wrap-anywhere">{row.message}</span>
              </>
            ),
          },
        ]}
      />
    </section>
  )
}
