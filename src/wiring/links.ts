import type { Keys } from '../domain/keys.js'
import type { RecordLinks } from '../http/gw/status.js'
import { recordingPath } from '../http/recipient/recording.js'

/** The addresses that status records name. The public one may be known only once we listen. */
export const recordLinks = (publicUrl: () => string, keys: Keys): RecordLinks => ({
  recording: notification => `${publicUrl()}${recordingPath(keys.recording, notification)}`,
})
