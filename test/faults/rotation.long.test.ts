import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { initialisedDataFolder } from '../support/database/data-folder.js'
import { receiverForTest } from '../support/gateway/receiver.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { carteiro, Program } from '../support/programs/carteiro-program.js'

test('while the master key is rotated, a running gateway goes on signing webhooks, making new ones and taking its tokens; so does the next start', async () => {
  const receiver = await receiverForTest()
  const options = { data: initialisedDataFolder(), env: { WEBHOOK_ALLOWED_RANGES: '127.0.0.0/8' } }
  let program = await Program.start(options)
  const { token } = program
  const subscribe = async (path: string): Promise<string> => {
    const body = { url: `${receiver.url}/${path}` }
    const answer = await request(`${program.url}/gw/webhooks`, { method: 'POST', token, body })
    return (answer.body as { data: { segredo: string } }).data.segredo
  }
  const secrets: Record<string, string> = { '/avisos/antes': await subscribe('antes') }
  const rotated = carteiro(['rotate-master-key', '--json'], options)
  expect([rotated.status, rotated.stderr]).toEqual([0, ''])
  expect(JSON.parse(rotated.stdout)).toMatchObject({ resealed: expect.any(Number) })
  secrets['/avisos/depois'] = await subscribe('depois')

  const announced = async (): Promise<void> => {
    receiver.got.length = 0
    const { status, body } = await send(program.url, token, validSend)
    expect(status).toBe(200)
    const { idEmail } = body as { idEmail: string }
    const paths = () => new Set(receiver.got.filter(({ body: text }) => text.includes(idEmail)).map(({ path }) => path))
    await expect.poll(paths).toEqual(new Set(Object.keys(secrets)))
    for (const { path, body: text, headers } of receiver.got)
      expect(new Webhook(secrets[path]!).verify(text, headers)).toBeTruthy()
  }
  await announced()
  expect(await program.stop()).toBe(0)
  program = await Program.start(options)
  await announced()
  expect(await program.stop()).toBe(0)
})
