import { overloaded } from '../domain/errors.js'
import type { JsonObject } from '../domain/notification.js'
import { type Scope, scopeKey } from '../domain/scope.js'
import {
  checkTemplate,
  isPlainTemplate,
  renderTemplate,
  type TemplateFault,
  type TemplateVariable,
} from '../domain/send/template.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import { KeyedSemaphore } from '../runtime/semaphore.js'
import { answerQuestions, isThreadOf, OutOfTime, ThreadDied, ThreadPool } from '../runtime/thread-pool.js'

export interface TemplateRunner {
  check(scope: Scope, content: string, declared: readonly TemplateVariable[] | null): Promise<Checked>
  /** Both reject with `overloaded` while an earlier template of the account takes too long. */
  render(scope: Scope, template: FilledTemplate): Promise<Rendered>
  close(): Promise<void>
}

export interface FilledTemplate {
  html: boolean
  content: string
  variables: readonly TemplateVariable[]
  values: JsonObject
}

type Checked = TemplateVariable[] | TemplateFault
type Rendered = { text: string } | TemplateFault
type Question = FilledTemplate | { content: string; declared: readonly TemplateVariable[] | null }

const PURPOSE = 'carteiro-templates'
/** One thread for an account with a template that takes too long, one for the others. */
const THREADS = 2
/** An ordinary template takes a millisecond; the machine may be busy. */
const LIMIT_MS = 3_000
const THREAD_HEAP_MIB = 128
/** For so long, accounts with a template that took too long are remembered. */
const REMEMBERED_MS = 60_000
const MAX_REMEMBERED = 1_000

/**
 * Checks and fills in templates in threads: the author decides how much work a template is, and only the end of its thread ends it.
 * Plain templates are filled in at once, because a thread would cost more than the work. This file is both ends of the threads.
 */
export function createTemplateRunner(limitMs = LIMIT_MS): TemplateRunner {
  const pool = new ThreadPool<Question, Checked | Rendered>({
    file: import.meta.url,
    purpose: PURPOSE,
    threads: THREADS,
    limitMs,
    heapMib: THREAD_HEAP_MIB,
  })
  /** An account's templates are filled in one by one, so that they never stand in the way of others in both threads. */
  const turns = new KeyedSemaphore({ permits: 1 })
  /** Accounts with a template that was given up; the symbol tells one such time from the next. */
  const givenUp = new BoundedCache<string, symbol>({ maxEntries: MAX_REMEMBERED, ttlMs: REMEMBERED_MS })

  async function ask(key: string, question: Question): Promise<Checked | Rendered> {
    const before = givenUp.get(key)
    // Whatever waits here waits for a template that may take the whole time too.
    if (before !== undefined && turns.isBusy(key)) throw overloaded()
    return turns.run(key, async () => {
      if (givenUp.get(key) !== before) throw overloaded()
      const answer = await askTwice(pool, question)
      if ('fault' in answer && answer.fault === 'limits') givenUp.set(key, Symbol())
      return answer
    })
  }

  return {
    async check(scope, content, declared) {
      if (isPlainTemplate(content)) return checkTemplate(content, declared)
      return (await ask(scopeKey(scope), { content, declared })) as Checked
    },
    async render(scope, template) {
      const { html, content, variables, values } = template
      if (isPlainTemplate(content, values)) return renderTemplate(html, content, variables, values)
      return (await ask(scopeKey(scope), template)) as Rendered
    },
    close: () => pool.close(),
  }
}

/** The limit counts wall-clock time, also while a busy machine suspends the thread: a second chance tells the two apart. */
async function askTwice(pool: ThreadPool<Question, Checked | Rendered>, question: Question): Promise<Checked | Rendered> {
  for (let round = 1; ; round++) {
    try {
      return await pool.ask(question)
    } catch (error) {
      if (isOutOfMemory(error) || (error instanceof OutOfTime && round === 2)) return { fault: 'limits' }
      if (!(error instanceof OutOfTime)) throw error
    }
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof ThreadDied && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'

if (isThreadOf(PURPOSE)) {
  answerQuestions((question: Question) => {
    if ('declared' in question) return checkTemplate(question.content, question.declared)
    const { html, content, variables, values } = question
    return renderTemplate(html, content, variables, values)
  })
}
