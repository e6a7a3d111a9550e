/** Codes of a TLS handshake that failed, and so of a connection on which nothing was asked. */
const HANDSHAKE = /CERT|SELF_SIGNED|TLS_|UNABLE_TO_VERIFY|WRONG_VERSION_NUMBER|HANDSHAKE_FAILURE|PROTOCOL_VERSION/
/** Node tells this by its words alone: the code is that of any connection that breaks. */
const CUT_SHORT = 'before secure TLS connection was established'

/** Whether what fetch threw says that nothing left: only where the connection itself failed is that sure. */
export const neverLeft = (error: unknown): boolean => isOfConnection((error as { cause?: unknown }).cause)

/** A name with several addresses fails with one error for each. */
function isOfConnection(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.every(isOfConnection)
  const { code = '', syscall = '', message = '' } = (cause ?? {}) as { code?: string; syscall?: string; message?: string }
  if (['connect', 'getaddrinfo'].includes(syscall) || code === 'UND_ERR_CONNECT_TIMEOUT') return true
  return HANDSHAKE.test(code) || message.includes(CUT_SHORT)
}
