import { threadId } from 'node:worker_threads'
import { answerQuestions, isThreadOf, threadData } from '../../src/runtime/thread-pool.js'

/** The thread of the pool's tests: it does what it is asked. */
export const PURPOSE = 'carteiro-test'
export const FILE = import.meta.url

export type Question =
  | { double: number }
  | { bytes: Uint8Array }
  | 'data'
  | 'thread'
  | 'throw'
  | 'hang'
  | 'fill the heap'
  | 'exit'

function answer(question: Question): unknown {
  if (typeof question === 'object') return 'double' in question ? question.double * 2 : question.bytes.length
  switch (question) {
    case 'data':
      return threadData()
    case 'thread':
      return threadId
    case 'throw':
      throw new TypeError('cannot')
    case 'hang':
      for (;;);
    case 'exit':
      return process.exit(3)
    case 'fill the heap': {
      const kept: object[] = []
      for (;;) kept.push({ kept })
    }
  }
}

if (isThreadOf(PURPOSE)) answerQuestions(answer)
