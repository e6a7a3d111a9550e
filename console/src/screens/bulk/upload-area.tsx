import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { FileUp } from 'lucide-react'
import { useRef, useState } from 'react'
import type { Uploaded } from '../../../../src/http/console/sending/bulk-schema.js'
import { api, withQuery } from '../../api/client.js'
import { useOneAccount } from '../../app/installation.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { useToast } from '../../parts/shell/toasts.js'
import { partWords } from '../../parts/words.js'
import { words as screenWords } from './words.js'

/** Takes a file by drop or by the browser's own dialog. */
export function UploadArea({ accountName }: { accountName: string }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const { scope } = useOneAccount()
  const navigate = useNavigate({ from: '/bulk' })
  const toast = useToast()
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const upload = useMutation({
    mutationFn: (file: File) => api.upload<Uploaded>(withQuery('/bulk', { ...scope, name: file.name.slice(0, 120) }), file),
    onSuccess: ({ id, repeated }) => {
      if (repeated) toast(words.repeated)
      void navigate({ search: previous => ({ ...previous, id }) })
    },
  })
  const take = (files: FileList | null): void => {
    const file = files?.[0]
    if (file !== undefined) upload.mutate(file)
  }
  return (
    <div className="flex flex-col gap-3">
      <section
        aria-label={words.drop}
        onDragOver={event => {
          event.preventDefault()
          setOver(true)
        }}
        onDragLeave={() => setOver(false)}
        onDrop={event => {
          event.preventDefault()
          setOver(false)
          take(event.dataTransfer.files)
        }}
        className={`flex flex-col items-center gap-3 rounded-xl border-2 border-dashed px-4 py-8 text-center transition-colors ${over ? 'border-accent bg-accent-soft' : 'border-line bg-surface'}`}
      >
        <FileUp size={28} className="text-accent" aria-hidden="true" />
        <p className="font-semibold">{upload.isPending ? words.uploading : words.drop}</p>
        <p className="max-w-md text-muted">{words.dropAbout(accountName)}</p>
        <input
          ref={input}
          type="file"
          accept=".csv,.txt,.xlsx,text/csv"
          className="sr-only"
          aria-label={words.choose}
          tabIndex={-1}
          onChange={event => {
            take(event.target.files)
            // The same file may be chosen again after a correction.
            event.target.value = ''
          }}
        />
        <Button look="primary" busy={upload.isPending} onClick={() => input.current?.click()}>
          {words.choose}
        </Button>
      </section>
      <FormError message={upload.error === null ? null : messageOf(upload.error, unreachable)} />
    </div>
  )
}
