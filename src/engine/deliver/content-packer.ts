import { packContent } from '../../channels/pack-content.js'
import { type PackedHead, readPacked, writePacked } from '../../channels/packed-block.js'
import type { PackedContent, SentContent } from '../../domain/delivery/sent-content.js'
import { BlockWriter, type ByteBlock, joinBytes, partsOf } from '../../runtime/byte-block.js'
import { GroupCommit } from '../../runtime/group-commit.js'
import { answerQuestions, isThreadOf, ThreadPool } from '../../runtime/thread-pool.js'

export interface ContentPacker {
  /** Until the thread has started the event loop packs: a report of the carrier must not overtake the record of its message. */
  pack(content: SentContent): Promise<PackedContent>
  /** Whether the thread has started. The first small message starts it. */
  readonly isReady: boolean
  close(): Promise<void>
}

interface Question {
  contents: readonly Omit<SentContent, 'bytes'>[]
  joined: ByteBlock
}

interface Answer {
  contents: readonly PackedHead[]
  joined: ByteBlock
}

/** Copying a larger message for the thread would block the event loop for longer than packing it there, which pauses between its pieces. */
const SMALL = 65_536
const MAX_GROUP = 64
/** A group takes a few milliseconds. Without a limit, a thread that hangs would keep the outcomes of its group from being recorded. */
const LIMIT_MS = 60_000
const PURPOSE = 'carteiro-packer'

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
  const joined = joinBytes(group.map(({ bytes }) => bytes))
  return pool.ask({ contents, joined }, [joined.bytes.buffer])
}

function readAnswer({ contents, joined }: Answer): PackedContent[] {
  const parts = partsOf(joined)
  return contents.map((content, index) => readPacked(content, parts[2 * index]!, parts[2 * index + 1]!))
}

if (isThreadOf(PURPOSE)) {
  answerQuestions<Question, Answer>(
    async ({ contents, joined }) => {
      const parts = partsOf(joined)
      const packed = await Promise.all(contents.map((content, index) => packContent({ ...content, bytes: parts[index]! })))
      const writer = new BlockWriter()
      return { contents: packed.map(content => writePacked(writer, content)), joined: writer.block }
    },
    ({ joined }) => [joined.bytes.buffer],
  )
}
