import { useEffect, useState } from 'react'

/** A value once it has not changed for a moment, so that the gateway is not asked at every key. */
export function useSettled<T>(value: T, ms = 350): T {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}
