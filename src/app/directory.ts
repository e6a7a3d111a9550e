import { Directory } from '../engine/access/directory.js'
import { isRegistered } from '../store/accounts/accounts.js'
import { findGrant } from '../store/accounts/tokens.js'
import { readRevision } from '../store/installation.js'
import type { Pool } from '../store/postgres.js'

export async function openDirectory(pool: Pool): Promise<Directory> {
  const directory = new Directory({
    readRevision: () => readRevision(pool),
    findGrant: jti => findGrant(pool, jti),
    isRegistered: address => isRegistered(pool, address),
  })
  await directory.open()
  return directory
}
