import { parentPort } from 'node:worker_threads'

/** The thread of a pool's test: it lives on, and says nothing. */
parentPort?.on('message', () => {})
