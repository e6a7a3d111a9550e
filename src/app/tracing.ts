import { randomBytes } from 'node:crypto'
import type { AcceptTrace } from '../engine/accept/accept.js'
import type { AttemptTrace } from '../engine/deliver/lane-options.js'
import { SpanExporter } from '../runtime/span-exporter.js'
import type { Config } from './config.js'
import type { Log } from './log.js'
import { readVersion } from './version.js'

/**
 * Traces from a request to the carrier's answer. A notification is its own trace: the id of one is the id of the other, so that the
 * worker's spans join those of the api and nothing needs to be stored. Which notifications are traced follows from the id too.
 */
export interface Tracing {
  accepted: AcceptTrace
  attempt: AttemptTrace
  close(): Promise<void>
}

/** null: switched off. */
export function openTracing(config: Config, role: string, log: Log, everyMs?: number): Tracing | null {
  const { tracing } = config
  if (tracing === null) return null
  const exporter = new SpanExporter({
    ...tracing,
    resource: { 'service.name': 'carteiro', 'service.version': readVersion(), 'carteiro.role': role },
    ...(everyMs === undefined ? {} : { everyMs }),
    onChange: problem => {
      if (problem === null) log.info('the collector of traces takes them again')
      else log.warn({ problem }, 'the collector of traces does not take them: some will be lost')
    },
  })
  return {
    accepted: ({ id, mode, channels, startedMs, traceparent }) => {
      if (!isTraced(id, tracing.share)) return
      exporter.add({
        ...rootOf(id),
        parentSpanId: null,
        name: 'accept',
        kind: 'server',
        startMs: startedMs,
        endMs: Date.now(),
        attributes: { 'carteiro.notification': id, 'carteiro.mode': mode, 'carteiro.channels': channels },
        error: null,
        link: readTraceparent(traceparent),
      })
    },
    attempt: ({ notification, channel, mode, attempt }, carrier) => {
      if (!isTraced(notification, tracing.share)) return undefined
      const root = rootOf(notification)
      const spanId = newSpanId()
      const startMs = Date.now()
      const attributes = {
        'carteiro.notification': notification,
        'carteiro.channel': channel,
        'carteiro.mode': mode,
        'carteiro.carrier': carrier,
        'carteiro.attempt': attempt,
      }
      return {
        called: (durationMs, result) => {
          const endMs = Date.now()
          exporter.add({
            traceId: root.traceId,
            spanId: newSpanId(),
            parentSpanId: spanId,
            name: `call ${channel}`,
            kind: 'client',
            startMs: endMs - durationMs,
            endMs,
            attributes: { ...attributes, 'carteiro.result': result },
            error: result === 'sent' ? null : result,
            link: null,
          })
        },
        end: () =>
          exporter.add({
            traceId: root.traceId,
            spanId,
            parentSpanId: root.spanId,
            name: `attempt ${channel}`,
            kind: 'internal',
            startMs,
            endMs: Date.now(),
            attributes,
            error: null,
            link: null,
          }),
      }
    },
    close: () => exporter.close(),
  }
}

/** The first span of a notification has an id that every process knows: the random half of the notification's. */
function rootOf(notification: string): { traceId: string; spanId: string } {
  const traceId = notification.replaceAll('-', '')
  return { traceId, spanId: traceId.slice(16) }
}

const newSpanId = (): string => randomBytes(8).toString('hex')

/** By the random end of the id: all processes decide alike. */
const isTraced = (notification: string, share: number): boolean =>
  share === 1 || Number.parseInt(notification.slice(-8), 16) / 2 ** 32 < share

/** W3C Trace Context: version, trace, span, flags. What cannot be read is no link. */
function readTraceparent(text: string | undefined): { traceId: string; spanId: string } | null {
  const [, traceId, spanId] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/.exec(text ?? '') ?? []
  return traceId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId!) ? null : { traceId, spanId: spanId! }
}
