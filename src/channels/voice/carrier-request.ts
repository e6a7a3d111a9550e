import { readBeginning } from '../answer-body.js'
import { neverLeft } from '../unsent.js'

/** What came back, or how far the request got: only one that never left may be repeated without a thought. */
export type Posted =
  | { status: number; retryAfter: string | null; body: string }
  | { failed: 'unsent' | 'unanswered'; cause: Error }

const MAX_ANSWER = 262_144

export async function postForm(url: string, form: URLSearchParams, authorization: string, signal: AbortSignal): Promise<Posted> {
  try {
    const answer = await fetch(url, { method: 'POST', headers: { authorization }, body: form, redirect: 'error', signal })
    const body = (await readBytes(answer, MAX_ANSWER)).toString('utf8')
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body }
  } catch (error) {
    const cause = error as Error
    return { failed: neverLeft(cause) ? 'unsent' : 'unanswered', cause }
  }
}

/** Of an answer that must not be endless. */
export async function readBytes(answer: Response, most: number): Promise<Buffer> {
  const bytes = await readBeginning(answer, most + 1)
  if (bytes.length > most) throw new Error(`the answer has more than ${most} bytes`)
  return bytes
}
