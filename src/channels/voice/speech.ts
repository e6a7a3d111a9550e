import { spawn } from 'node:child_process'
import { readWav, resample, type Sound } from '../../domain/wav.js'

/** Telephones carry 8,000 samples per second. */
export const TELEPHONE_RATE = 8_000
const VOICE = 'pt-br'
/** Slower than espeak-ng's default, because the message is heard once and over a telephone. */
const WORDS_PER_MINUTE = '150'
const MAX_SPEECH = 64 * 1_048_576

export async function speakText(text: string, signal: AbortSignal): Promise<Sound> {
  const wav = await runEspeak(text, signal)
  const sound = readWav(wav)
  if (sound === null || sound.samples.length === 0) throw new Error('espeak-ng gave no sound')
  return resample(sound, TELEPHONE_RATE)
}

/** The text is passed as standard input, because every user of the machine can read the arguments of a process. */
function runEspeak(text: string, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn('espeak-ng', ['-v', VOICE, '-s', WORDS_PER_MINUTE, '--stdin', '--stdout'], {
      stdio: ['pipe', 'pipe', 'ignore'],
      signal,
    })
    const chunks: Buffer[] = []
    let size = 0
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_SPEECH) child.kill('SIGKILL')
      else chunks.push(chunk)
    })
    child.on('error', reject)
    child.stdin.on('error', () => {})
    child.on('close', code => (code === 0 ? resolve(Buffer.concat(chunks)) : reject(new Error(`espeak-ng ended with ${code}`))))
    child.stdin.end(text)
  })
}
