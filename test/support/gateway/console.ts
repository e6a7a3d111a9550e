import { randomUUID } from 'node:crypto'
import type { OperatorRole } from '../../../src/domain/access/operator.js'
import { invitationPath, invite } from '../../../src/engine/console/invitations.js'
import type { Pool } from '../../../src/store/postgres.js'
import { transaction } from '../../../src/store/postgres.js'
import type { Gateway } from './gateway.js'
import { type Answer, request } from './requests.js'

/** A person at the console, as their browser talks to its API. */
export interface ConsoleClient {
  email: string
  cookie: string
  get(path: string): Promise<Answer>
  post(path: string, body?: object): Promise<Answer>
  put(path: string, body: object): Promise<Answer>
  delete(path: string): Promise<Answer>
}

export const PASSWORD = 'quatro cavalos pastam quietos'

/** What every unsafe request of our own pages carries. */
export const ownPage = (url: string): Record<string, string> => ({ 'x-carteiro-console': '1', origin: url })

export const cookieOf = ({ headers }: Answer): string => headers.get('set-cookie')?.split(';')[0] ?? ''

/** The link of an invitation, as `carteiro operator invite` prints it. */
export async function invitationLink(
  pool: Pool,
  url: string,
  { email = 'ana@example.com', role = 'operator' as OperatorRole, account = null as string | null } = {},
): Promise<string> {
  const secret = await transaction(pool, db => invite(db, { email, role, account }, 'test'))
  return `${url}${invitationPath(secret)}`
}

export function clientWith(url: string, email: string, cookie: string): ConsoleClient {
  const headers = { ...ownPage(url), cookie }
  const call = (method: string, path: string, body?: object): Promise<Answer> =>
    request(`${url}/console/api${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  return {
    email,
    cookie,
    get: path => call('GET', path),
    post: (path, body = {}) => call('POST', path, body),
    put: (path, body) => call('PUT', path, body),
    delete: path => call('DELETE', path),
  }
}

/** Invites a person and signs them in. */
export async function consoleClient(
  pool: Pool,
  url: string,
  person: { email?: string; role?: OperatorRole; account?: string | null } = {},
): Promise<ConsoleClient> {
  const { email = 'ana@example.com' } = person
  const secret = new URL(await invitationLink(pool, url, person)).hash.slice(1)
  const body = { secret, name: 'Ana Lima', email, password: PASSWORD, totp: null }
  const answer = await request(`${url}/console/api/invitation/accept`, { method: 'POST', headers: ownPage(url), body })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return clientWith(url, email, cookieOf(answer))
}

/** Every route of the console's API, from Fastify's own drawing of them. The drawing without common prefixes loses what is before a `*`. */
export function consoleRoutes({ app }: Pick<Gateway, 'app'>): { method: string; path: string }[] {
  const trail: string[] = []
  return app
    .printRoutes()
    .split('\n')
    .filter(line => line.trim() !== '')
    .flatMap(line => {
      const [, branch, part, methods] = /^([│├└─\s]*)(.*?)(?: \(([A-Z, ]+)\))?$/.exec(line)!
      trail.splice(branch!.length / 4 - 1, trail.length, part!)
      return (methods?.split(', ') ?? []).map(method => ({ method, path: trail.join('') }))
    })
    .filter(({ path, method }) => path.startsWith('/console/api/') && ['GET', 'POST', 'PUT', 'DELETE'].includes(method))
}

/** A path of a route with the ids of nothing. */
export const concretePath = (path: string): string => path.replace(/:\w+/g, () => randomUUID()).replace('*', 'nada')
