import { Link2, Square, Volume2 } from 'lucide-react'
import { useEffect, useMemo, useState } from 'react'
import type { Preview, ShownMessage } from '../../../../src/http/console/sending/compose-schema.js'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { ChannelName, useChannel } from '../../parts/data/channel.js'
import { Bubble, MarkupFrame, PdfFrame } from '../../parts/data/message-views.js'
import { Button, buttonClass } from '../../parts/form/button.js'
import { words as screenWords } from './words.js'

export function Previews({ deliveries }: { deliveries: Preview['deliveries'] }) {
  const words = useWords(screenWords)
  const dates = useDates()
  const conditions = words.conditions as Readonly<Record<string, string>>
  return (
    <ul className="flex flex-col gap-5">
      {deliveries.map(({ channel, message, problem, dueAt, waitMinutes, condition }) => (
        <li key={channel} className="flex flex-col gap-2">
          <div className="flex flex-wrap items-baseline justify-between gap-x-3">
            <h3 className="font-semibold">
              <ChannelName name={channel} />
            </h3>
            <span className="text-[0.93rem] text-muted">
              {dueAt !== null && words.at(dates.short(dueAt), conditions[condition] ?? '')}
              {dueAt === null &&
                (waitMinutes === 0 && condition === 'sempre'
                  ? words.atOnce
                  : words.after(duration(waitMinutes), conditions[condition] ?? ''))}
            </span>
          </div>
          {problem !== null && <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn wrap-anywhere">{problem}</p>}
          {message !== null && <Message channel={channel} message={message} />}
        </li>
      ))}
    </ul>
  )
}

function duration(minutes: number): string {
  if (minutes % 1_440 === 0 && minutes > 0) return `${minutes / 1_440} d`
  return minutes % 60 === 0 && minutes > 0 ? `${minutes / 60} h` : `${minutes} min`
}

function Message({ channel, message }: { channel: string; message: ShownMessage }) {
  const { color } = useChannel(channel)
  switch (message.kind) {
    case 'mail':
      return <Mail message={message} />
    case 'parts':
      return <Parts message={message} color={color} />
    case 'bubble':
      return <Chat message={message} color={color} />
    case 'speech':
      return <Speech message={message} color={color} />
    case 'pdf':
      return <Sheet message={message} />
  }
}

type Of<Kind extends ShownMessage['kind']> = Extract<ShownMessage, { kind: Kind }>

function Mail({ message: { from, fromName, subject, html } }: { message: Of<'mail'> }) {
  const words = useWords(screenWords)
  return (
    <div>
      <p className="font-medium wrap-anywhere">{subject}</p>
      <p className="mb-2 text-[0.93rem] text-muted wrap-anywhere">
        {words.mailFrom} {fromName} &lt;{from}&gt;
      </p>
      <MarkupFrame title={words.mailFrame} html={html} tall />
    </div>
  )
}

function Parts({ message: { text, encoding, parts }, color }: { message: Of<'parts'>; color: string }) {
  const words = useWords(screenWords)
  return (
    <div>
      <Bubble color={color}>
        {parts.length === 1
          ? text
          : parts.map((part, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a part has no identity but its place
              <span key={place} className={place % 2 === 0 ? '' : 'bg-accent-soft'}>
                {part}
              </span>
            ))}
      </Bubble>
      <p className="mt-1.5 text-[0.93rem] text-muted">
        <strong className="font-medium text-text">{words.parts(parts.length)}</strong>, {words.characters([...text].length)},{' '}
        {encoding === 'gsm7' ? words.gsm7 : words.ucs2}
      </p>
    </div>
  )
}

function Chat({ message: { template, text, values, hasButton }, color }: { message: Of<'bubble'>; color: string }) {
  const words = useWords(screenWords)
  return (
    <Bubble color={color}>
      {text ?? (
        <>
          {words.foreign(template)}
          <ul className="mt-1 list-disc pl-5">
            {values.map(({ name, text: value }, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a parameter without a name is known by its place
              <li key={place}>
                {name === null ? '' : `${name}: `}
                {value}
              </li>
            ))}
          </ul>
        </>
      )}
      {hasButton && (
        <span className="mt-2 flex items-center justify-center gap-2 border-t border-line pt-2 font-medium text-accent">
          <Link2 size={16} aria-hidden="true" />
          {words.button}
        </span>
      )}
    </Bubble>
  )
}

/** Read aloud by the browser. The carrier has a voice of its own. */
function Speech({ message: { greeting, text }, color }: { message: Of<'speech'>; color: string }) {
  const words = useWords(screenWords)
  const [speaking, setSpeaking] = useState(false)
  const canSpeak = 'speechSynthesis' in window
  useEffect(() => () => window.speechSynthesis?.cancel(), [])
  const listen = (): void => {
    window.speechSynthesis.cancel()
    if (speaking) {
      setSpeaking(false)
      return
    }
    const spoken = new SpeechSynthesisUtterance(`${greeting} ${text}`)
    spoken.lang = 'pt-BR'
    spoken.onend = () => setSpeaking(false)
    spoken.onerror = () => setSpeaking(false)
    setSpeaking(true)
    window.speechSynthesis.speak(spoken)
  }
  return (
    <div>
      <Bubble color={color}>
        <span className="text-muted">{greeting}</span>
        {'\n\n'}
        {text}
      </Bubble>
      {canSpeak ? (
        <Button
          size="small"
          className="mt-2"
          aria-pressed={speaking}
          icon={speaking ? <Square size={15} aria-hidden="true" /> : <Volume2 size={16} aria-hidden="true" />}
          onClick={listen}
        >
          {speaking ? words.stop : words.listen}
        </Button>
      ) : (
        <p className="mt-2 text-muted">{words.noSpeech}</p>
      )}
    </div>
  )
}

function Sheet({ message: { base64, pages } }: { message: Of<'pdf'> }) {
  const words = useWords(screenWords)
  const url = useMemo(() => {
    const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0))
    return URL.createObjectURL(new Blob([bytes], { type: 'application/pdf' }))
  }, [base64])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return (
    <div className="flex flex-col gap-2">
      <PdfFrame title={words.sheet} src={url} />
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span className="text-[0.93rem] text-muted">{words.pages(pages)}</span>
        <a href={url} target="_blank" rel="noreferrer" className={buttonClass('plain', 'small')}>
          {words.openPdf}
        </a>
      </div>
    </div>
  )
}
