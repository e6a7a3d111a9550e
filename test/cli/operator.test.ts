import { expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { banner } from '../../src/app/process/banner.js'
import { invitationPath, inviteFirst } from '../../src/engine/console/invitations.js'
import { databaseForTest } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { clientWith, cookieOf, ownPage, PASSWORD } from '../support/gateway/console.js'
import { createAccount, gatewayForTest } from '../support/gateway/gateway.js'
import { type Answer, request } from '../support/gateway/requests.js'

const accept = (url: string, link: string, email: string): Promise<Answer> =>
  request(`${url}/console/api/invitation/accept`, {
    method: 'POST',
    headers: ownPage(url),
    body: { secret: new URL(link).hash.slice(1), name: 'Ana', email, password: PASSWORD, totp: null },
  })

test('carteiro operator: invites a person of each role, lists them, ends their sessions, and refuses what makes no sense', async () => {
  const { pool, url: databaseUrl } = await databaseForTest()
  const { url } = await gatewayForTest(pool)
  const account = await createAccount(pool, { name: 'acme' })
  const run = (...args: string[]) => runCommand(['operator', ...args], databaseUrl, { PUBLIC_URL: 'https://avisos.example.com' })

  expect((await run('list')).stdout).toContain('Não há operadores.')
  const invited = await run('invite', '--email', 'Ana@Example.com')
  expect(invited).toMatchObject({ status: 0, stderr: '' })
  const link = invited.stdout.trim()
  expect(link).toMatch(/^https:\/\/avisos\.example\.com\/console\/invitation#[\w-]{43}$/)
  // A second link makes the first one void.
  const second = JSON.parse((await run('invite', '--email', 'ana@example.com', '--json')).stdout)
  expect(second).toMatchObject({ email: 'ana@example.com', role: 'operator' })
  expect((await accept(url, link, '')).status).toBe(410)
  const accepted = await accept(url, second.link, 'outra@example.com')
  expect(accepted.status).toBe(200)
  const ana = clientWith(url, '', cookieOf(accepted))
  expect((await ana.get('/me')).body).toMatchObject({ email: 'ana@example.com', role: 'operator' })

  const sender = JSON.parse(
    (await run('invite', '--email', 'bia@example.com', '--role', 'sender', '--account', 'acme', '--json')).stdout,
  )
  const bia = clientWith(url, '', cookieOf(await accept(url, sender.link, '')))
  expect((await bia.get('/installation')).body).toMatchObject({ operator: { role: 'sender' }, accounts: [{ id: account.id }] })

  const listed = JSON.parse((await run('list', '--json')).stdout)
  expect(listed).toMatchObject([
    { email: 'ana@example.com', role: 'operator', account: null, totp: false, sessions: 1 },
    { email: 'bia@example.com', role: 'sender', account: 'acme', sessions: 1 },
  ])
  expect((await run('end-sessions', '--email', 'ana@example.com')).status).toBe(0)
  expect([(await ana.get('/me')).status, (await bia.get('/me')).status]).toEqual([401, 200])

  const refusals: [args: string[], message: string][] = [
    [['invite', '--email', 'ana@example.com'], 'Já existe o operador ana@example.com.'],
    [['invite', '--email', 'ana'], '--email deve ser um endereço de e-mail'],
    [['invite', '--email', 'c@example.com', '--role', 'sender'], 'Informe --account com o papel sender'],
    [['invite', '--email', 'c@example.com', '--account', 'acme'], 'Informe --account com o papel sender'],
    [['invite', '--email', 'c@example.com', '--role', 'sender', '--account', 'nada'], 'Não existe a conta "nada"'],
    [['invite', '--email', 'c@example.com', '--role', 'root'], 'operator, sender, auditor'],
    [['end-sessions', '--email', 'c@example.com'], 'Não existe o operador c@example.com.'],
  ]
  for (const [args, message] of refusals) {
    const refused = await run(...args)
    expect(refused.stderr, args.join(' ')).toContain(message)
    expect(refused.status, args.join(' ')).not.toBe(0)
  }
  const { rows } = await pool.query("select action, actor from audit where actor like 'command:%' order by id")
  expect(rows.map(({ action }) => action)).toEqual(['operator invite', 'operator invite', 'operator invite', 'session end'])
})

test('the banner shows the first link until there is an operator; the link makes one operator, and no later start shows another', async () => {
  const { pool } = await databaseForTest()
  const { url } = await gatewayForTest(pool)
  const shown = async (): Promise<string> => {
    const secret = await inviteFirst(pool)
    const link = secret === null ? null : url + invitationPath(secret)
    return banner(readConfig({}), { api: url, simulator: null, token: null, link })
  }
  const linkIn = (text: string): string | undefined => /http\S+\/console\/invitation#\S+/.exec(text)?.[0]
  const first = linkIn(await shown())!
  const text = await shown()
  expect(text).toContain('Primeiro acesso ao console (vale uma vez, por 24 horas)')
  const second = linkIn(text)!
  // Every start makes a new one: a banner of last week in a log opens nothing.
  expect((await accept(url, first, 'a@example.com')).status).toBe(410)
  // Two people with the same link: one of them gets in.
  const answers = await Promise.all(['a@example.com', 'b@example.com'].map(email => accept(url, second, email)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 410])
  expect((await pool.query('select role, account_id from operator')).rows).toEqual([{ role: 'operator', account_id: null }])
  expect(linkIn(await shown())).toBeUndefined()
  expect((await pool.query('select from invitation')).rowCount).toBe(0)
})

test('an invitation that is older than a day opens nothing', async () => {
  const { pool } = await databaseForTest()
  const { url } = await gatewayForTest(pool)
  const secret = (await inviteFirst(pool))!
  await pool.query("update invitation set expires_at = now() - interval '1 second'")
  expect((await accept(url, url + invitationPath(secret), 'a@example.com')).status).toBe(410)
})
