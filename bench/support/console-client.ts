import { request } from 'undici'
import { invite } from '../../src/engine/console/invitations.js'
import { transaction } from '../../src/store/postgres.js'
import type { Subject } from './workspace.js'

/** Asks a console for a list. */
export type Client = (path: string) => Promise<{ cursor?: string | null }>

/** A person of the console, who sees one account or all: the cookie of a session, which every api of the store knows. */
export async function signIn({ pool }: Subject, address: string, name: string, account: string | null): Promise<string> {
  const email = `${name}@example.com`
  const role = account === null ? 'operator' : 'sender'
  const secret = await transaction(pool, db => invite(db, { email, role, account }, 'bench'))
  const answer = await request(`${address}/console/api/invitation/accept`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-carteiro-console': '1', origin: address },
    body: JSON.stringify({ secret, name, email, password: 'quatro cavalos pastam quietos', totp: null }),
  })
  await answer.body.dump()
  return [answer.headers['set-cookie']].flat()[0]!.split(';')[0]!
}

export const clientOf =
  (address: string, cookie: string): Client =>
  async path => {
    const { statusCode, body } = await request(`${address}/console/api${path}`, { headers: { cookie } })
    const read = await body.text()
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${read.slice(0, 300)}`)
    return JSON.parse(read) as { cursor?: string | null }
  }
