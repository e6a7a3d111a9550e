/** Sound as telephony has it: one or two channels of 16-bit samples in a WAV file. */
export interface Sound {
  rate: number
  channels: number
  samples: Int16Array
}

const HEADER = 44

/** null: not a PCM file of 16 bits. If the writer died, the header has no sizes: the samples that are in the file are read. */
export function readWav(bytes: Buffer): Sound | null {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') return null
  let format: { rate: number; channels: number } | null = null
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4)
    const size = bytes.readUInt32LE(at + 4)
    const start = at + 8
    if (name === 'fmt ' && start + 16 <= bytes.length) {
      if (bytes.readUInt16LE(start) !== 1 || bytes.readUInt16LE(start + 14) !== 16) return null
      format = { channels: bytes.readUInt16LE(start + 2), rate: bytes.readUInt32LE(start + 4) }
    }
    if (name === 'data') {
      if (format === null) return null
      const end = size === 0 || start + size > bytes.length ? bytes.length : start + size
      const samples = new Int16Array(Math.floor((end - start) / 2))
      for (let n = 0; n < samples.length; n++) samples[n] = bytes.readInt16LE(start + 2 * n)
      return { ...format, samples }
    }
    at = start + size + (size % 2)
  }
  return null
}

export function writeWav({ rate, channels, samples }: Sound): Buffer {
  const bytes = Buffer.alloc(HEADER + samples.length * 2)
  bytes.write('RIFF', 0, 'latin1')
  bytes.writeUInt32LE(bytes.length - 8, 4)
  bytes.write('WAVEfmt ', 8, 'latin1')
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(channels, 22)
  bytes.writeUInt32LE(rate, 24)
  bytes.writeUInt32LE(rate * channels * 2, 28)
  bytes.writeUInt16LE(channels * 2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36, 'latin1')
  bytes.writeUInt32LE(samples.length * 2, 40)
  for (let n = 0; n < samples.length; n++) bytes.writeInt16LE(samples[n]!, HEADER + 2 * n)
  return bytes
}

/** One channel at another rate. What lies between two of the new samples is averaged: picking single ones would whistle. */
export function resample({ rate, samples }: Sound, wanted: number): Sound {
  const ratio = rate / wanted
  const result = new Int16Array(Math.floor(samples.length / ratio))
  for (let n = 0; n < result.length; n++) {
    const from = Math.floor(n * ratio)
    const to = Math.max(from + 1, Math.floor((n + 1) * ratio))
    let sum = 0
    for (let m = from; m < to; m++) sum += samples[m] ?? 0
    result[n] = Math.round(sum / (to - from))
  }
  return { rate: wanted, channels: 1, samples: result }
}

/** Two voices of a call side by side, the caller's on the left. */
export function interleave(left: Sound, right: Sound): Sound {
  const length = Math.max(left.samples.length, right.samples.length)
  const samples = new Int16Array(length * 2)
  for (let n = 0; n < length; n++) {
    samples[2 * n] = left.samples[n] ?? 0
    samples[2 * n + 1] = right.samples[n] ?? 0
  }
  return { rate: left.rate, channels: 2, samples }
}

export const seconds = ({ rate, channels, samples }: Sound): number => samples.length / channels / rate

export function joinSamples(parts: readonly Int16Array[]): Int16Array {
  const joined = new Int16Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
