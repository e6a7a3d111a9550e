import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import type { ChangeLogo } from '../../../../src/http/console/access/accounts-schema.js'
import { api } from '../../api/client.js'
import { useWords } from '../../app/language.js'
import { Button } from '../../parts/form/button.js'
import { readBase64 } from '../../parts/form/read-file.js'
import { FormError } from '../../parts/shell/gate.js'
import { messageOf } from '../../parts/shell/states.js'
import { partWords } from '../../parts/words.js'
import { accountDetails } from './queries.js'
import { words as screenWords } from './words.js'

export function LogoField({ account, logo, mayChange }: { account: string; logo: string | null; mayChange: boolean }) {
  const words = useWords(screenWords)
  const { unreachable } = useWords(partWords)
  const client = useQueryClient()
  const chooser = useRef<HTMLInputElement>(null)
  const change = useMutation({
    mutationFn: async (file: File | null) =>
      file === null
        ? api.delete(`/accounts/${account}/logo`)
        : api.put(`/accounts/${account}/logo`, { data: await readBase64(file) } satisfies ChangeLogo),
    onSuccess: () => client.invalidateQueries({ queryKey: accountDetails(account).queryKey }),
  })
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-3">
        {logo === null ? (
          <span className="text-muted">{words.noLogo}</span>
        ) : (
          <span className="rounded-lg border border-line bg-white p-2">
            <img src={logo} alt={words.logo} className="h-10 max-w-40 object-contain" />
          </span>
        )}
        {mayChange && (
          <>
            <input
              ref={chooser}
              type="file"
              accept="image/png,image/jpeg,image/svg+xml"
              aria-label={words.chooseLogo}
              className="sr-only"
              tabIndex={-1}
              onChange={event => {
                const [file] = event.target.files ?? []
                if (file !== undefined) change.mutate(file)
                event.target.value = ''
              }}
            />
            <Button size="small" busy={change.isPending} onClick={() => chooser.current?.click()}>
              {words.chooseLogo}
            </Button>
            {logo !== null && (
              <Button size="small" look="danger" onClick={() => change.mutate(null)}>
                {words.removeLogo}
              </Button>
            )}
          </>
        )}
      </div>
      <p className="text-[0.87rem] text-muted">{words.logoAbout}</p>
      <FormError message={change.error === null ? null : messageOf(change.error, unreachable)} />
    </div>
  )
}
