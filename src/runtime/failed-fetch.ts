/** Why a fetch failed. Its own message says only that it did; the reason is in its cause. */
export function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  const { code, message: reason } = (cause ?? {}) as NodeJS.ErrnoException
  return code ?? reason ?? message
}
