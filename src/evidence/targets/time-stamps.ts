import { insertTimeStamp } from '../../store/evidence/time-stamps.js'
import type { Queryable } from '../../store/postgres.js'
import { noteDigest, readNote } from '../note.js'
import { readTimeStamp } from '../signature/time-stamp.js'
import { requestTimeStamp } from '../signature/time-stamp-client.js'
import type { AuthoritySetting } from './settings.js'
import type { CheckpointTarget } from './target.js'

/** A time-stamp authority (RFC 3161): it signs when the checkpoint existed, whatever our clock says. */
export const timeStampTarget = ({ name, everyMs, url }: AuthoritySetting, db: Queryable): CheckpointTarget => ({
  name: `tsa ${name}`,
  everyMs,
  async deliver({ size, note }, signal) {
    const token = await requestTimeStamp(url, noteDigest(readNote(note)!.text), { signal })
    await insertTimeStamp(db, { size, authority: name, token, at: readTimeStamp(token).at })
  },
})
