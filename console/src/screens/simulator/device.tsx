import { Download, Paperclip } from 'lucide-react'
import type { SimulatedMessage } from '../../../../src/http/console/simulator/simulator-schema.js'
import { apiUrl } from '../../api/client.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { ChannelIcon, useChannel } from '../../parts/data/channel.js'
import { PdfFrame } from '../../parts/data/message-views.js'
import { Timeline } from '../../parts/data/timeline.js'
import { buttonClass } from '../../parts/form/button.js'
import { DesktopFrame, PhoneFrame, SandboxedPage } from '../../parts/shell/frames.js'
import { Card } from '../../parts/shell/page.js'
import { words as screenWords } from './words.js'

interface Shown {
  message: SimulatedMessage
}

/** The message where its recipient meets it. */
export function Device({ message }: Shown) {
  if (message.shape === 'call') return <Call message={message} />
  if (message.shape === 'sheet') return <Sheet message={message} />
  return message.shape === 'mail' ? <Mail message={message} /> : <Bubbles message={message} />
}

const fileUrl = (id: string, path: string): string => apiUrl(`/simulator/messages/${id}/files/${path}`)

function Mail({ message }: Shown) {
  const words = useWords(screenWords)
  const dates = useDates()
  return (
    <DesktopFrame title={message.to}>
      <div className="flex h-full flex-col">
        <div className="shrink-0 border-b border-line px-4 py-3">
          <h2 className="text-lg font-semibold wrap-anywhere">{message.subject}</h2>
          <p className="text-[0.93rem] wrap-anywhere text-muted">
            {words.from(message.from)} · {dates.long(message.receivedAt)}
          </p>
          {message.attachments.length > 0 && (
            <ul aria-label={words.attachments} className="mt-2 flex flex-wrap gap-2">
              {message.attachments.map(({ name, size }, index) => (
                <li key={name}>
                  <a href={fileUrl(message.id, `attachments/${index}`)} download={name} className={buttonClass('plain', 'small')}>
                    <Paperclip size={14} aria-hidden="true" />
                    <span className="max-w-48 truncate">{name}</span>
                    <span className="text-muted">{dates.number(Math.ceil(size / 1024))} kB</span>
                  </a>
                </li>
              ))}
            </ul>
          )}
        </div>
        <div className="min-h-0 flex-1">
          {message.hasHtml ? (
            <SandboxedPage title={words.frameTitle} src={apiUrl(`/simulator/messages/${message.id}/page`)} />
          ) : (
            <section
              aria-label={words.frameTitle}
              tabIndex={0}
              className="h-full overflow-auto p-4 wrap-anywhere whitespace-pre-wrap"
            >
              {message.text}
            </section>
          )}
        </div>
      </div>
    </DesktopFrame>
  )
}

function Bubbles({ message }: Shown) {
  const words = useWords(screenWords)
  const dates = useDates()
  const { color } = useChannel(message.channel)
  return (
    <PhoneFrame
      title={
        <span className="inline-flex items-center gap-1.5">
          <ChannelIcon name={message.channel} size={14} />
          {message.from === '' ? words.carrier : message.from}
        </span>
      }
    >
      <section aria-label={message.to} tabIndex={0} className="flex h-full flex-col gap-2 overflow-y-auto bg-page p-3">
        <div
          className="max-w-[92%] self-start rounded-2xl rounded-tl-sm border-l-4 bg-surface px-3 py-2 shadow-card"
          style={{ borderLeftColor: color }}
        >
          {message.text === null ? (
            <>
              <p className="text-[0.87rem] text-muted">{words.unknownText}</p>
              <dl className="mt-1">
                {message.values.map(({ name, text }) => (
                  <div key={name} className="flex gap-2">
                    <dt className="text-muted">{name}</dt>
                    <dd className="wrap-anywhere">{text}</dd>
                  </div>
                ))}
              </dl>
            </>
          ) : (
            <p className="wrap-anywhere whitespace-pre-wrap">{message.text}</p>
          )}
          <p className="mt-1 text-right text-[0.8rem] text-muted">{dates.hour(message.receivedAt)}</p>
        </div>
        {message.reports
          .filter(({ detail, tone, state }) => state === 'done' && detail !== null && tone === 'good')
          .map(({ id, label, at }) => (
            <p key={id} className="self-center rounded-full bg-sunken px-3 py-0.5 text-[0.8rem] text-muted">
              {label} · {dates.hour(at)}
            </p>
          ))}
      </section>
    </PhoneFrame>
  )
}

function Call({ message }: Shown) {
  const words = useWords(screenWords)
  return (
    <PhoneFrame title={message.to}>
      <div className="flex h-full flex-col gap-3 bg-page p-3">
        <div className="flex flex-col items-center gap-2 pt-3">
          <span className="flex size-14 items-center justify-center rounded-full bg-accent-soft">
            <ChannelIcon name={message.channel} size={26} />
          </span>
          <p className="font-semibold">{message.from}</p>
        </div>
        <section aria-label={words.listen} tabIndex={0} className="flex min-h-0 flex-1 flex-col gap-2 overflow-y-auto">
          {message.lines.length === 0 && <p className="text-center text-muted">{words.silence}</p>}
          {message.lines.map((line, index) => (
            <p
              // Lines are only added at the end.
              // biome-ignore lint/suspicious/noArrayIndexKey: two lines may be the same
              key={index}
              className={`max-w-[90%] rounded-2xl px-3 py-1.5 wrap-anywhere ${line.ours ? 'self-start rounded-tl-sm bg-surface shadow-card' : 'self-end rounded-tr-sm bg-accent-soft'}`}
            >
              <span className="block text-[0.8rem] text-muted">{line.ours ? words.ours : words.theirs}</span>
              {line.text}
            </p>
          ))}
        </section>
        {message.file !== null && message.lines.length > 0 && (
          // The lines above are its text.
          // biome-ignore lint/a11y/useMediaCaption: the transcript is beside it
          <audio
            controls
            preload="none"
            aria-label={words.listen}
            src={fileUrl(message.id, message.file)}
            className="w-full shrink-0"
          />
        )}
      </div>
    </PhoneFrame>
  )
}

function Sheet({ message }: Shown) {
  const words = useWords(screenWords)
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <PdfFrame title={words.sheetTitle} src={fileUrl(message.id, message.file ?? '')} />
      <a href={fileUrl(message.id, message.file ?? '')} download className={`${buttonClass('plain', 'small')} self-start`}>
        <Download size={15} aria-hidden="true" />
        {words.download}
      </a>
      <Card title={words.tracking}>
        {message.tracking.length === 0 ? (
          <p className="text-muted">{words.noTracking}</p>
        ) : (
          <Timeline
            label={words.tracking}
            steps={message.tracking.map(({ at, text }) => ({ id: `${at} ${text}`, at, tone: 'busy', title: text }))}
          />
        )}
      </Card>
    </div>
  )
}
