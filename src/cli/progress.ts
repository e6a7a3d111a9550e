import type { Batch } from '../../client/client.js'
import { batchStateNames } from '../domain/send/bulk.js'
import { MIB } from '../domain/units.js'
import type { OutputOptions } from './output.js'

/** What the progress of a batch is told from. */
export type ShownBatch = Pick<
  Batch,
  'situacao' | 'total' | 'conferidas' | 'boas' | 'rejeitadas' | 'aceitas' | 'falhas' | 'porMinuto' | 'segundosRestantes'
>

function measure(batch: ShownBatch): { what: string; done: number; of: number } {
  // A newer gateway may have states that this command does not know.
  const what = batchStateNames[batch.situacao] ?? batch.situacao
  return batch.situacao === 'checking' || batch.situacao === 'checked'
    ? { what, done: batch.conferidas, of: batch.total }
    : { what, done: batch.aceitas + batch.falhas, of: batch.boas }
}

const pace = ({ porMinuto, segundosRestantes }: ShownBatch): string =>
  [porMinuto ? `${porMinuto}/min` : '', segundosRestantes === null ? '' : `faltam ${span(segundosRestantes)}`]
    .filter(Boolean)
    .join(', ')

/** 4 s, 3 min 20 s, 1 h 5 min. */
export function span(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
}

/** One line of a terminal. */
export function drawBar(batch: ShownBatch, width: number): string {
  const { what, done, of } = measure(batch)
  return barOf(done, of, ` ${done}/${of} ${[what, pace(batch)].filter(Boolean).join(', ')}`, width)
}

/** `words`: what stands behind the bar. */
function barOf(done: number, of: number, words: string, width: number): string {
  const room = Math.max(10, width - words.length - 3)
  const filled = of === 0 ? 0 : Math.floor((done / of) * room)
  return `[${'#'.repeat(filled)}${'.'.repeat(room - filled)}]${words}`
}

/** For logs: it changes with every tenth of the work, and not with every question. */
export function plainProgress(batch: ShownBatch): string {
  const { what, done, of } = measure(batch)
  const tenths = of === 0 ? 10 : Math.floor((done / of) * 10)
  return `${what}: ${tenths * 10}% de ${of} linhas`
}

/** Shows texts on standard error: in place on a terminal, elsewhere line by line where they change. null: the end. */
export function showLine(): (terminal: ((width: number) => string) | null, plain?: string) => void {
  const { stderr } = process
  let last = ''
  return (terminal, plain = '') => {
    const text = terminal === null ? '' : stderr.isTTY ? terminal(Math.min(stderr.columns ?? 80, 100)) : plain
    if (text === last) return
    if (stderr.isTTY) stderr.write(terminal === null ? '\r\x1b[K' : `\r\x1b[K${text}`)
    else if (terminal !== null) stderr.write(`${text}\n`)
    last = text
  }
}

/** A bar of bytes, for people. null: the end. */
export function showBytes({ json = false }: OutputOptions): (done: number | null, of?: number) => void {
  if (json) return () => {}
  const show = showLine()
  return (done, of = 0) => {
    if (done === null) return show(null)
    const words = ` ${Math.round(done / MIB)}/${Math.round(of / MIB)} MiB`
    show(width => barOf(done, of, words, width), `${Math.floor((10 * done) / of) * 10}% de ${Math.round(of / MIB)} MiB`)
  }
}
