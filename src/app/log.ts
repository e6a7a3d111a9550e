import { pino } from 'pino'

export type Log = pino.Logger

/**
 * Structured log on standard error; standard output belongs to the banner and to command results. Lines are gathered and
 * written together: a write per line would cost more than the request itself.
 */
export function openLog(
  level: string,
  role: string,
  destination: pino.DestinationStream = level === 'silent' ? nowhere : standardError(),
): Log {
  const serializers = { err: describeError, req: () => undefined, res: () => undefined }
  return pino({ level, base: { role }, timestamp: pino.stdTimeFunctions.isoTime, serializers }, destination)
}

const nowhere: pino.DestinationStream = { write: () => {} }

function standardError(): pino.DestinationStream {
  const destination = pino.destination({ dest: 2, sync: false, minLength: 4096 })
  // Whoever read the log is gone, or its disk is full: the service goes on without it.
  destination.on('error', () => {})
  setInterval(() => destination.flush(), 500).unref()
  process.on('exit', () => destination.flushSync())
  return destination
}

/** Driver errors quote the values that they choked on (detail, where, parameters): recipients' data stays out of the log. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) }
  const { code, cause } = error as Error & { code?: unknown }
  return {
    type: error.name,
    message: code === undefined || error.name !== 'error' ? error.message : 'database error',
    code,
    // A stack begins with the message, which may have several lines.
    stack: error.stack
      ?.split('\n')
      .filter(line => line.startsWith('    at '))
      .slice(0, 7)
      .join('\n'),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  }
}
