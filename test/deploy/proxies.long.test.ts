import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../src/runtime/free-port.js'
import { databaseForTest } from '../support/database/database.js'
import { cookieOf, invitationLink, ownPage, PASSWORD } from '../support/gateway/console.js'
import { createAccount, gatewayForTest } from '../support/gateway/gateway.js'
import { type Answer, validSend } from '../support/gateway/requests.js'
import { findProgram, untilListening } from '../support/programs/other-programs.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { type ProxyPlace, placeCaddy, placeCertificate, placeNginx } from './proxy-config.js'

/** The gateway behind the proxies of deploy/proxy, over TLS, as a client elsewhere sees it. */
const CLIENT = '127.0.0.77'
const proxies = [
  { name: 'nginx', place: placeNginx, args: (path: string) => ['-e', 'stderr', '-c', path] },
  { name: 'caddy', place: placeCaddy, args: (path: string) => ['run', '--adapter', 'caddyfile', '--config', path] },
]

async function startProxy(program: string, args: string[], folder: string, port: number): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: folder }
  const child: ChildProcess = spawn(program, args, {
    stdio: ['ignore', 'ignore', openSync(join(folder, 'stderr.log'), 'a')],
    env,
  })
  onTestFinished(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  })
  await untilListening(port)
}

describe.each(proxies)('behind $name', ({ name, place, args }) => {
  const program = findProgram(name)
  test.skipIf(program === null)(
    `a send, a stream of events and the client’s own address${program === null ? ` (missing: ${name})` : ''}`,
    async () => {
      const folder = temporaryFolder()
      const [https, http] = [await freePort(), await freePort()]
      const database = await databaseForTest()
      const site = `https://127.0.0.1:${https}`
      const env = { PUBLIC_URL: site, TRUSTED_PROXIES: '127.0.0.1' }
      const gateway = await gatewayForTest(database.pool, env, { console: { everyMs: 20, aliveEveryMs: 50 } })
      const api = Number(new URL(gateway.url).port)
      const certificate = placeCertificate(folder)
      const path = place({ folder, https, http, api } satisfies ProxyPlace, certificate)
      await startProxy(program!, args(path), folder, https)
      const account = await createAccount(database.pool, { ranges: [`${CLIENT}/32`] })

      const open = (target: string, options: object = {}, body?: string): Promise<IncomingMessage> =>
        new Promise((resolve, reject) => {
          const from = { localAddress: CLIENT, ca: certificate.pem, ...options }
          httpsRequest(`${site}${target}`, from, resolve).on('error', reject).end(body)
        })
      const ask = async (target: string, options: object = {}, body?: object): Promise<Answer> => {
        const answer = await open(target, options, body === undefined ? undefined : JSON.stringify(body))
        const text = (await answer.setEncoding('utf8').toArray()).join('')
        const json = answer.headers['content-type']?.startsWith('application/json')
        const headers = new Headers(Object.entries(answer.headers).map(([key, value]) => [key, String(value)]))
        return { status: answer.statusCode!, headers, body: json ? JSON.parse(text) : text }
      }
      const json = { 'content-type': 'application/json' }

      // A forged hop is not believed: the address is the one that the proxy saw.
      const headers = { ...json, authorization: account.token, 'x-forwarded-for': '203.0.113.9' }
      const sent = await ask('/gw/email', { method: 'POST', headers }, validSend)
      expect(sent.status).toBe(200)
      const { idEmail } = sent.body as { idEmail: string }
      const { rows } = await database.pool.query('select data from event where notification_id = $1 and seq = 1', [idEmail])
      expect(rows[0].data.address).toBe(CLIENT)

      // The largest send that the program takes passes the proxy, and its own refusal of a larger one reaches the client.
      const large = { ...validSend, content: 'x'.repeat(37 * 1_048_576) }
      const refused = await ask('/gw/email', { method: 'POST', headers }, large)
      expect(refused.status).toBe(413)
      expect(refused.body).toMatchObject({ statusCode: 413, message: expect.stringContaining('36') })

      const page = await ask('/console')
      expect(page.status).toBe(200)
      expect(page.headers.get('strict-transport-security')).toBe('max-age=31536000')
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin')
      const reader = { headers: { authorization: 'Bearer leitura-das-metricas' } }
      for (const path of ['/metrics', '/metrics/', '/%6Detrics', '/metrics?x=/']) {
        expect((await fetch(`${gateway.url}${path}`, reader)).status, path).toBe(200)
        expect((await ask(path, reader)).status, path).toBe(404)
      }
      expect((await ask('/readyz')).status).toBe(200)

      const secret = new URL(await invitationLink(database.pool, site)).hash.slice(1)
      const person = { secret, name: 'Ana Lima', email: 'ana@example.com', password: PASSWORD, totp: null }
      const own = { ...json, ...ownPage(site) }
      const signedIn = await ask('/console/api/invitation/accept', { method: 'POST', headers: own }, person)
      expect(signedIn.status).toBe(200)
      const live = await open('/console/api/live', { headers: { ...own, cookie: cookieOf(signedIn) } })
      onTestFinished(() => void live.destroy())
      let heard = ''
      live.setEncoding('utf8').on('data', text => {
        heard += text
      })
      // While the answer goes on: a proxy that gathered it would show nothing until its end.
      await expect.poll(() => heard).toContain(': alive')
      const next = await ask('/gw/email', { method: 'POST', headers }, validSend)
      await expect.poll(() => heard).toContain((next.body as { idEmail: string }).idEmail)

      if (name === 'nginx') {
        const redirect = await new Promise<IncomingMessage>((resolve, reject) => {
          httpRequest(`http://127.0.0.1:${http}/s/abc?x=1`, resolve).on('error', reject).end()
        })
        expect(redirect.statusCode).toBe(308)
        expect(redirect.headers.location).toBe('https://127.0.0.1/s/abc?x=1')
      }
    },
  )

  test.skipIf(program === null)(
    `no log has the link of a recipient, when the gateway breaks off an answer or is away${program === null ? ` (missing: ${name})` : ''}`,
    async () => {
      const folder = temporaryFolder()
      const [https, http] = [await freePort(), await freePort()]
      const api = createServer((_, response) => {
        response.writeHead(200, { 'content-length': 1_000 })
        response.write('meia resposta', () => response.destroy())
      }).listen(0, '127.0.0.1')
      await once(api, 'listening')
      const certificate = placeCertificate(folder)
      const path = place({ folder, https, http, api: (api.address() as AddressInfo).port }, certificate)
      await startProxy(program!, args(path), folder, https)
      const link = '/n/link-so-da-maria'
      const headers = { referer: `https://127.0.0.1:${https}${link}`, connection: 'close' }
      const open = (): Promise<number> =>
        new Promise((resolve, reject) => {
          const request = httpsRequest(`https://127.0.0.1:${https}${link}`, { ca: certificate.pem, headers }, answer => {
            answer.on('error', () => {})
            answer.on('close', () => resolve(answer.statusCode!)).resume()
          })
          request.on('error', reject).end()
        })
      expect(await open()).toBe(200)
      api.closeAllConnections()
      api.close()
      expect(await open()).toBe(502)
      const logs = (): string =>
        ['stderr.log', 'error.log']
          .map(file => join(folder, file))
          .filter(file => existsSync(file))
          .map(file => readFileSync(file, 'utf8'))
          .join('')
      // The reason of the failure is told where the proxy can tell it without the request.
      if (name === 'caddy') await expect.poll(logs).toMatch(/connection refused/)
      expect(logs()).not.toContain('link-so-da-maria')
    },
  )
})
