import { expect, test } from 'vitest'
import type { OperatorRole } from '../../src/domain/access/operator.js'
import { concretePath, consoleClient, consoleRoutes, ownPage } from '../support/gateway/console.js'
import { gatewayForFile } from '../support/gateway/gateway.js'

/** Who may call what. A route that is not in the table fails the test: whoever adds one says here who may call it. */
const E: readonly OperatorRole[] = ['operator', 'sender', 'auditor']
const OVERSEERS: readonly OperatorRole[] = ['operator', 'auditor']
const SENDERS: readonly OperatorRole[] = ['operator', 'sender']
const O: readonly OperatorRole[] = ['operator']
const allowed: Readonly<Record<string, readonly OperatorRole[] | 'anyone'>> = {
  'POST /sign-in': 'anyone',
  'POST /invitation/look': 'anyone',
  'POST /invitation/totp': 'anyone',
  'POST /invitation/accept': 'anyone',
  'POST /sign-out': E,
  'GET /me': E,
  'POST /me/new-totp': E,
  'PUT /me/password': E,
  'PUT /me/totp': E,
  'DELETE /me/sessions/:id': E,
  'GET /installation': E,
  'GET /overview': E,
  'GET /notifications': E,
  'GET /notifications.csv': E,
  'GET /live': E,
  'GET /notifications/:id': E,
  'GET /notifications/:id/status': E,
  'GET /notifications/:id/content': E,
  'GET /notifications/:id/contents/:channel/:ordinal': E,
  'GET /notifications/:id/proof.pdf': E,
  'GET /notifications/:id/report.pdf': E,
  'GET /notifications/:id/bundle.zip': E,
  'GET /notifications/:id/verification': E,
  'POST /notifications/:id/finalize': SENDERS,
  'POST /notifications/:id/channels/:channel/decision': SENDERS,
  'GET /compose': E,
  'POST /compose/preview': E,
  'POST /compose/send': SENDERS,
  'GET /templates': E,
  'POST /templates': SENDERS,
  'POST /templates/preview': E,
  'GET /templates/:id': E,
  'PUT /templates/:id': SENDERS,
  'GET /templates/:id/versions/:version': E,
  'GET /sequence': E,
  'PUT /sequence': SENDERS,
  'POST /sequence/simulation': E,
  'GET /webhooks': E,
  'POST /webhooks': SENDERS,
  'PUT /webhooks/:id': SENDERS,
  'DELETE /webhooks/:id': SENDERS,
  'GET /webhooks/:id/attempts': E,
  'POST /webhooks/:id/replay': SENDERS,
  'POST /webhooks/:id/rotate': SENDERS,
  'POST /webhooks/:id/test': SENDERS,
  'GET /carriers': OVERSEERS,
  'GET /carriers/setup': OVERSEERS,
  'POST /carriers/test': O,
  'GET /operations/queue': E,
  'GET /operations/deliveries': E,
  'GET /operations/suppressions': E,
  'GET /operations/evidence': OVERSEERS,
  'POST /operations/retry': SENDERS,
  'POST /operations/settle': O,
  'POST /operations/suppressions/remove': O,
  'GET /simulator': SENDERS,
  'GET /simulator/messages': SENDERS,
  'DELETE /simulator/messages': O,
  'GET /simulator/messages/:id': SENDERS,
  'GET /simulator/messages/:id/page': SENDERS,
  'GET /simulator/messages/:id/files/*': SENDERS,
  'POST /simulator/messages/:id/actions': SENDERS,
  'PUT /simulator/faults': O,
  'GET /accounts': E,
  'POST /accounts': O,
  'GET /accounts/:id': E,
  'PUT /accounts/:id/settings': O,
  'PUT /accounts/:id/logo': O,
  'DELETE /accounts/:id/logo': O,
  'GET /accounts/:id/samples/:sample': E,
  'GET /accounts/:id/tokens': E,
  'POST /accounts/:id/tokens': O,
  'DELETE /accounts/:id/tokens/:jti': O,
  'GET /accounts/:id/addresses': E,
  'POST /accounts/:id/addresses': O,
  'DELETE /accounts/:id/addresses': O,
  'GET /operators': OVERSEERS,
  'POST /operators/invite': O,
  'DELETE /operators/invitations': O,
  'PUT /operators/:id/role': O,
  'POST /operators/:id/disable': O,
  'POST /operators/:id/enable': O,
  'POST /operators/:id/end-sessions': O,
  'GET /bulk': E,
  'POST /bulk': SENDERS,
  'GET /bulk/:id': E,
  'POST /bulk/:id/check': SENDERS,
  'POST /bulk/:id/start': SENDERS,
  'POST /bulk/:id/pause': SENDERS,
  'POST /bulk/:id/resume': SENDERS,
  'POST /bulk/:id/cancel': SENDERS,
  'GET /bulk/:id/rejects.csv': E,
  'GET /bulk/:id/result.csv': E,
  'GET /audit': OVERSEERS,
  'GET /audit/chain': OVERSEERS,
}

const { database, gateway, account } = await gatewayForFile()
const { pool } = database
const { url } = gateway
const routes = consoleRoutes(gateway)
  .filter(({ path }) => path !== '/console/api/*')
  .map(({ method, path }) => ({ method, path, name: `${method} ${path.slice('/console/api'.length)}` }))
const clients = {
  operator: await consoleClient(pool, url, { email: 'operadora@example.com' }),
  sender: await consoleClient(pool, url, { email: 'remetente@example.com', role: 'sender', account: account.id }),
  auditor: await consoleClient(pool, url, { email: 'auditora@example.com', role: 'auditor' }),
}

async function statusOf(role: OperatorRole, { method, path }: { method: string; path: string }): Promise<number> {
  const stop = new AbortController()
  const headers = { ...ownPage(url), cookie: clients[role].cookie, 'content-type': 'application/json' }
  const body = ['POST', 'PUT'].includes(method) ? { body: '{}' } : {}
  const { status } = await fetch(url + path, { method, headers, ...body, signal: stop.signal })
  // A stream has no end of its own.
  stop.abort()
  return status
}

test('the table names every route of the console, and no other', () => {
  expect(routes.map(({ name }) => name).sort()).toEqual(Object.keys(allowed).sort())
})

test('a role that the table does not name is refused; one that it names is not, whatever else the answer is', async () => {
  // The one that ends the session comes last.
  const walked = [...routes].sort((a, b) => Number(a.name === 'POST /sign-out') - Number(b.name === 'POST /sign-out'))
  for (const { name, method, path } of walked) {
    const roles = allowed[name]
    if (roles === 'anyone' || roles === undefined) continue
    for (const role of ['operator', 'sender', 'auditor'] as const) {
      const status = await statusOf(role, { method, path: concretePath(path) })
      if (roles.includes(role)) expect([401, 403, 500], `${role} ${name}`).not.toContain(status)
      else expect(status, `${role} ${name}`).toBe(403)
    }
  }
})
