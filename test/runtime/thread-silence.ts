import { parentPort } from 'node:worker_threads'
import { isThreadOf } from '../../src/runtime/thread-pool.js'

/** The thread of a pool's test: it lives on, and says nothing. */
export const silence = { file: import.meta.url, purpose: 'carteiro-silence' }

if (isThreadOf(silence.purpose)) parentPort!.on('message', () => {})
