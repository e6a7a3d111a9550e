import { Download, Paperclip } from 'lucide-react'
import { useState } from 'react'
import type { SentCopy, ShownNotification } from '../../../../src/http/console/notifications/notification-schema.js'
import { apiUrl } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { ChannelName } from '../../parts/data/channel.js'
import { buttonClass } from '../../parts/form/button.js'
import { Segments } from '../../parts/form/field.js'
import { DesktopFrame, PhoneFrame, SandboxedPage } from '../../parts/shell/frames.js'
import { Card } from '../../parts/shell/page.js'
import { words as screenWords } from './words.js'

/** The content as the recipient sees it, and what left by each channel. */
export function ContentTab({ shown }: { shown: ShownNotification }) {
  return (
    <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <Rendered shown={shown} />
      <div className="flex min-w-0 flex-col gap-4">
        <Copies shown={shown} />
        {shown.attachments.length > 0 && <Attachments shown={shown} />}
      </div>
    </div>
  )
}

function Rendered({ shown: { id, hasContent, hasQuestion, subject } }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const [frame, setFrame] = useState('phone')
  const Frame = frame === 'phone' ? PhoneFrame : DesktopFrame
  return (
    <Card
      title={words.content}
      actions={
        <Segments
          label={words.frame}
          value={frame}
          onChoose={setFrame}
          choices={[
            { value: 'phone', label: words.phone },
            { value: 'desktop', label: words.desktop },
          ]}
        />
      }
    >
      {hasContent ? (
        <div className="flex flex-col gap-3">
          {hasQuestion && <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn">{words.question}</p>}
          <Frame title={subject ?? words.noSubject}>
            <SandboxedPage title={words.frameTitle} src={apiUrl(`/notifications/${id}/content`)} />
          </Frame>
          <p className="text-[0.87rem] text-muted">{words.frameNote}</p>
        </div>
      ) : (
        <p className="text-muted">{words.noContent}</p>
      )}
    </Card>
  )
}

function Copies({ shown: { id, contents } }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  return (
    <Card title={words.copies}>
      {contents.length === 0 ? (
        <p className="text-muted">{words.noCopies}</p>
      ) : (
        <div className="flex flex-col gap-4">
          <p className="text-[0.87rem] text-muted">{words.copiesNote}</p>
          {contents.map(copy => (
            <Copy key={`${copy.channel} ${copy.ordinal}`} id={id} copy={copy} />
          ))}
        </div>
      )}
    </Card>
  )
}

function Copy({ id, copy }: { id: string; copy: SentCopy }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <section className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="font-medium">
          <ChannelName name={copy.channel} />
          {copy.ordinal > 1 && <span className="text-muted"> · {words.copyOf(copy.ordinal)}</span>}
        </h3>
        <a
          href={apiUrl(`/notifications/${id}/contents/${copy.channel}/${copy.ordinal}`)}
          download
          className={buttonClass('plain', 'small')}
        >
          <Download size={15} aria-hidden="true" />
          {words.download} .{copy.extension}
        </a>
      </div>
      {copy.preview !== null && <Preview copy={copy} text={copy.preview} />}
      <p className="font-mono text-[0.8rem] wrap-anywhere text-muted">
        {copy.type} · {dates.number(copy.size)} B · {copy.sha256}
      </p>
    </section>
  )
}

/** A text is a bubble; JSON, which a program wrote, is shown as such. */
function Preview({ copy, text }: { copy: SentCopy; text: string }) {
  if (!copy.type.startsWith('application/json'))
    return <p className="rounded-2xl rounded-tl-none bg-accent-soft px-3.5 py-2 wrap-anywhere whitespace-pre-wrap">{text}</p>
  return (
    <section
      aria-label={copy.extension}
      tabIndex={0}
      className="max-h-56 overflow-auto rounded-lg bg-sunken p-3 font-mono text-[0.8rem]"
    >
      <pre>{readable(text)}</pre>
    </section>
  )
}

function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function Attachments({ shown: { attachments } }: { shown: ShownNotification }) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <Card title={words.attachments}>
      <ul className="flex flex-col gap-2">
        {attachments.map(({ name, size, sha256 }) => (
          <li key={sha256} className="flex gap-2">
            <Paperclip size={16} className="mt-1 shrink-0 text-muted" aria-hidden="true" />
            <div className="min-w-0">
              <p className="wrap-anywhere">{name}</p>
              <p className="font-mono text-[0.8rem] wrap-anywhere text-muted">
                {dates.number(size)} B · {sha256}
              </p>
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}
