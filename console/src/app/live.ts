import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { installation } from '../api/queries.js'

/** However much happens, a page asks again at most this often. */
const EVERY_MS = 1_000
/** The wait after the first refusal of the stream; each further one doubles it, up to the longest. */
const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 30_000

/** Listens to what changes, and has every `live` query asked again. Returns whether the stream is open. */
export function useLive(): boolean {
  const client = useQueryClient()
  const [open, setOpen] = useState(false)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null
    const refresh = (): void => {
      timer ??= setTimeout(() => {
        timer = null
        // What is on its way would be called off, such as the next page of a list.
        if (client.isFetching({ queryKey: ['live'] }) > 0) refresh()
        else void client.invalidateQueries({ queryKey: ['live'] })
      }, EVERY_MS)
    }
    const close = keepOpen({
      onOpen() {
        setOpen(true)
        // What happened while the stream was broken.
        refresh()
      },
      onChange: refresh,
      onBroken: () => setOpen(false),
      // This request finds out whether the session is over, and leads to the sign-in: then the stream is closed with the page.
      onRefused: () => void client.invalidateQueries({ queryKey: installation.queryKey }),
    })
    return () => {
      close()
      if (timer !== null) clearTimeout(timer)
    }
  }, [client])
  return open
}

/** A broken stream is opened again by the browser. After a refusal, for example by a server that is starting, only we can open it. */
function keepOpen(on: Record<'onOpen' | 'onChange' | 'onBroken' | 'onRefused', () => void>): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  let refusals = 0
  const connect = (): void => {
    source = new EventSource('/console/api/live')
    source.addEventListener('open', () => {
      refusals = 0
      on.onOpen()
    })
    source.addEventListener('change', on.onChange)
    source.addEventListener('error', () => {
      on.onBroken()
      if (source.readyState !== EventSource.CLOSED) return
      on.onRefused()
      timer = setTimeout(connect, Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** refusals++))
    })
  }
  connect()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}
