import { Paperclip, X } from 'lucide-react'
import { useRef } from 'react'
import { useDates } from '../../app/dates.js'
import { useWords } from '../../app/language.js'
import { Button, IconButton } from '../../parts/form/button.js'
import { readBase64 } from '../../parts/form/read-file.js'
import type { Attachment } from './request.js'
import { words as screenWords } from './words.js'

/** The files that go with the message; the gateway says how many and how large they may be. */
export function Attachments({
  files,
  error,
  onChange,
}: {
  files: readonly Attachment[]
  error: string | null
  onChange(files: readonly Attachment[]): void
}) {
  const words = useWords(screenWords)
  const dates = useDates()
  const chooser = useRef<HTMLInputElement>(null)
  const add = async (chosen: readonly File[]): Promise<void> =>
    onChange([
      ...files,
      ...(await Promise.all(chosen.map(async file => ({ name: file.name, size: file.size, base64: await readBase64(file) })))),
    ])
  return (
    <div className="flex flex-col gap-2">
      <span className="text-[0.93rem] font-medium">{words.attachments}</span>
      {files.length > 0 && (
        <ul aria-label={words.attachments} className="flex flex-col divide-y divide-line rounded-lg border border-line">
          {files.map((file, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: two files may have one name
            <li key={place} className="flex items-center gap-2 pl-3">
              <Paperclip size={15} aria-hidden="true" className="shrink-0 text-muted" />
              <span className="min-w-0 flex-1 truncate" title={file.name}>
                {file.name}
              </span>
              <span className="shrink-0 text-[0.87rem] text-muted tabular-nums">
                {dates.number(Math.max(1, Math.round(file.size / 1024)))} kB
              </span>
              <IconButton label={words.detach(file.name)} onClick={() => onChange(files.filter((_, other) => other !== place))}>
                <X size={16} />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <input
        ref={chooser}
        type="file"
        multiple
        aria-label={words.attach}
        className="sr-only"
        tabIndex={-1}
        onChange={event => {
          void add([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
      <Button
        size="small"
        className="self-start"
        icon={<Paperclip size={15} aria-hidden="true" />}
        onClick={() => chooser.current?.click()}
      >
        {words.attach}
      </Button>
      {error === null ? (
        <p className="text-[0.87rem] text-muted">{words.attachHint}</p>
      ) : (
        <p role="alert" className="text-[0.87rem] text-bad wrap-anywhere">
          {error}
        </p>
      )}
    </div>
  )
}
