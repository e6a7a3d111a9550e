import type { Keys } from '../domain/keys.js'
import type { RecordLinks } from '../http/gw/status.js'
import { letterProofPath } from '../http/recipient/letter-proof.js'
import { recordingPath } from '../http/recipient/recording.js'

/** The addresses that status records name, below where people reach us: known once we listen. */
export const recordLinks = (publicUrl: () => string, keys: Keys): RecordLinks => ({
  letterProof: notification => `${publicUrl()}${letterProofPath(keys.letterProof, notification)}`,
  recording: notification => `${publicUrl()}${recordingPath(keys.recording, notification)}`,
})
