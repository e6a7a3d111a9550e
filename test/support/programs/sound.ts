import type { Sound } from '../../../src/domain/text/wav.js'

/** The root mean square of one channel: near zero is silence, speech has hundreds and more. */
export function loudness({ channels, samples }: Sound, channel: number): number {
  let sum = 0
  let count = 0
  for (let n = channel; n < samples.length; n += channels) {
    sum += samples[n]! ** 2
    count++
  }
  return count === 0 ? 0 : Math.sqrt(sum / count)
}
