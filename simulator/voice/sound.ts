import { spawn } from 'node:child_process'
import { interleave, joinSamples, readWav, resample, type Sound, writeWav } from '../../src/domain/text/wav.js'
import type { Utterance } from './call.js'

const RATE = 8_000
const MAX_TEXT = 4_000
const TIMEOUT_MS = 10_000
const PAUSE = RATE / 2

/** The carrier is on the left channel and the person on the right, one after the other. */
export async function soundOf(said: readonly Utterance[]): Promise<Buffer> {
  const [left, right]: [Int16Array[], Int16Array[]] = [[], []]
  for (const { who, text } of said) {
    const samples = await speak(text.slice(0, MAX_TEXT), who)
    const silence = new Int16Array(samples.length)
    const pause = new Int16Array(PAUSE)
    left.push(who === 'carrier' ? samples : silence, pause)
    right.push(who === 'person' ? samples : silence, pause)
  }
  const side = (parts: Int16Array[]): Sound => ({ rate: RATE, channels: 1, samples: joinSamples(parts) })
  return writeWav(interleave(side(left), side(right)))
}

async function speak(text: string, who: Utterance['who']): Promise<Int16Array> {
  const wav = await espeak(text, who === 'person' ? 'pt-br+f3' : 'pt-br')
  const sound = wav === null ? null : readWav(wav)
  return sound === null || sound.samples.length === 0 ? melody(text) : resample(sound, RATE).samples
}

/** Null when espeak-ng is not installed or fails. */
function espeak(text: string, voice: string): Promise<Buffer | null> {
  return new Promise(resolve => {
    const child = spawn('espeak-ng', ['-v', voice, '--stdin', '--stdout'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
    })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stdin.on('error', () => {})
    child.on('error', () => resolve(null))
    child.on('close', code => resolve(code === 0 ? Buffer.concat(chunks) : null))
    child.stdin.end(text)
  })
}

const VOWELS = 'aeiou'

/** A tone for every vowel: without espeak-ng a call is still audible. */
export function melody(text: string): Int16Array {
  const vowels = [...text.normalize('NFD').toLowerCase()].filter(letter => VOWELS.includes(letter))
  const length = Math.round(RATE * 0.12)
  return joinSamples(
    (vowels.length === 0 ? ['a'] : vowels).map(vowel => {
      const pitch = 220 + 60 * VOWELS.indexOf(vowel)
      return Int16Array.from({ length }, (_, n) => {
        const envelope = Math.sin((Math.PI * n) / length)
        return Math.round(9_000 * envelope * Math.sin((2 * Math.PI * pitch * n) / RATE))
      })
    }),
  )
}
