import type { PackedContent, SentContent } from '../../domain/delivery/sent-content.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { answerQuestions, isThreadOf, ThreadPool } from '../../runtime/thread-pool.js'
import { packContent } from './pack-content.js'

export interface ContentPacker {
  /** Until the thread has started the event loop packs: a report of the carrier must not overtake the record of its message. */
  pack(content: SentContent): Promise<PackedContent>
  /** Whether the thread has started. The first small message starts it. */
  readonly isReady: boolean
  close(): Promise<void>
}

/** Several byte arrays in one, which is moved between threads and not copied. */
interface Joined {
  bytes: Uint8Array<ArrayBuffer>
  lengths: readonly number[]
}

interface Question {
  contents: readonly Omit<SentContent, 'bytes'>[]
  joined: Joined
}

interface Answer {
  contents: readonly Omit<PackedContent, 'bytes' | 'salt'>[]
  /** For each content its bytes, then its salt; an empty part: it has no salt. */
  joined: Joined
}

/** Copying a larger message for the thread would block the event loop for longer than packing it there, which pauses between its pieces. */
const SMALL = 65_536
const MAX_GROUP = 64
/** A group takes a few milliseconds. Without a limit, a thread that hangs would keep the outcomes of its group from being recorded. */
const LIMIT_MS = 60_000
const PURPOSE = 'carteiro-packer'
const NOTHING = Buffer.alloc(0)

/**
 * Packs the messages that left in a thread of their own: hashing and compressing take a fifth of the time of a small e-mail, which the
 * event loop spends on the next ones. Messages that leave while the thread works are packed together, since each passage into a thread
 * costs as much as packing one. This module runs on both sides: it starts the thread and is its entry point.
 */
export function createContentPacker(): ContentPacker {
  const pool = new ThreadPool<Question, Answer>({ file: import.meta.url, purpose: PURPOSE, threads: 1, limitMs: LIMIT_MS })
  const groups = new GroupCommit<SentContent, PackedContent>({
    write: async group => readAnswer(await askFor(pool, group)),
    maxItems: MAX_GROUP,
    parallel: 1,
    // As many wait as a worker has messages under way.
    maxWaiting: Number.POSITIVE_INFINITY,
    overloaded: () => new Error('too many contents wait'),
  })
  return {
    get isReady() {
      return pool.isReady
    },
    pack(content) {
      if (content.bytes.length > SMALL) return packContent(content)
      pool.start()
      if (!pool.isReady) return packContent(content)
      // What left must be kept, also where the thread ended before it answered.
      return groups.submit(content).catch(() => packContent(content))
    },
    close: () => pool.close(),
  }
}

function askFor(pool: ThreadPool<Question, Answer>, group: readonly SentContent[]): Promise<Answer> {
  const contents = group.map(({ bytes: _, ...rest }) => rest)
  const joined = join(group.map(({ bytes }) => bytes))
  return pool.ask({ contents, joined }, [joined.bytes.buffer])
}

function readAnswer({ contents, joined }: Answer): PackedContent[] {
  const parts = split(joined)
  return contents.map((content, index) => {
    const salt = parts[2 * index + 1]!
    return { ...content, bytes: parts[2 * index]!, salt: salt.length === 0 ? null : salt }
  })
}

function join(list: readonly Uint8Array[]): Joined {
  const lengths = list.map(({ length }) => length)
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
  let at = 0
  for (const part of list) {
    bytes.set(part, at)
    at += part.length
  }
  return { bytes, lengths }
}

function split({ bytes: { buffer }, lengths }: Joined): Buffer[] {
  let end = 0
  return lengths.map(length => {
    end += length
    return Buffer.from(buffer, end - length, length)
  })
}

if (isThreadOf(PURPOSE)) {
  answerQuestions<Question, Answer>(
    async ({ contents, joined }) => {
      const parts = split(joined)
      const packed = await Promise.all(contents.map((content, index) => packContent({ ...content, bytes: parts[index]! })))
      return {
        contents: packed.map(({ bytes: _, salt: _salt, ...rest }) => rest),
        joined: join(packed.flatMap(({ bytes, salt }) => [bytes, salt ?? NOTHING])),
      }
    },
    ({ joined }) => [joined.bytes.buffer],
  )
}
