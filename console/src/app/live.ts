import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { installation } from '../api/queries.js'

/** However much happens, a page asks again at most this often. */
const EVERY_MS = 1_000

/** Listens to what changes, and has every `live` query asked again. Returns whether the stream is open. */
export function useLive(): boolean {
  const client = useQueryClient()
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const source = new EventSource('/console/api/live')
    let timer: ReturnType<typeof setTimeout> | null = null
    const refresh = (): void => {
      timer ??= setTimeout(() => {
        timer = null
        // What is on its way would be called off, such as the next page of a list.
        if (client.isFetching({ queryKey: ['live'] }) > 0) refresh()
        else void client.invalidateQueries({ queryKey: ['live'] })
      }, EVERY_MS)
    }
    source.addEventListener('open', () => {
      setOpen(true)
      // What happened while the stream was broken.
      refresh()
    })
    source.addEventListener('change', refresh)
    source.addEventListener('error', () => {
      setOpen(false)
      // A refusal ends the stream for good: this request finds out why, and leads to the sign-in.
      if (source.readyState === EventSource.CLOSED) void client.invalidateQueries({ queryKey: installation.queryKey })
    })
    return () => {
      source.close()
      if (timer !== null) clearTimeout(timer)
    }
  }, [client])
  return open
}
