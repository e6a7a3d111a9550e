import { describe, expect, test, vi } from 'vitest'
import {
  BOUNCES,
  carriersForTest,
  listenerForTest,
  partTypes,
  register,
  reportFields,
  send,
  settled,
  simulatorForTest,
  type TestSimulator,
} from './carriers.js'

const actionsOf = (raws: string[]): string[] => raws.map(raw => /^Action: (\w+)/m.exec(raw)![1]!)

describe('which reports are asked for', () => {
  test('with NOTIFY=FAILURE a delivery is not reported and a failure is', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'entregue@simulador.test', dsn: { notify: ['failure'] } })
    await send(simulator, { to: 'devolvido-depois@simulador.test', dsn: { notify: ['failure'] } })
    expect(actionsOf((await listener.wait(1)).map(({ raw }) => raw))).toEqual(['failed'])
    expect((await simulator.message('entregue@simulador.test')).reports).toEqual([])
  })

  test('with NOTIFY=NEVER nothing is reported', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'cheia@simulador.test', dsn: { notify: ['never'] } })
    await send(simulator, { to: 'devolvido@simulador.test' })
    await listener.wait(1, BOUNCES)
    expect((await simulator.message('cheia@simulador.test')).reports).toEqual([])
  })

  test('with NOTIFY without DELAY only the failure of a full mailbox is reported', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'cheia@simulador.test', dsn: { notify: ['success', 'failure'] } })
    expect(actionsOf((await listener.wait(1)).map(({ raw }) => raw))).toEqual(['failed'])
  })

  test('without NOTIFY failures and delays are reported and successes are not', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'entregue@simulador.test', dsn: null })
    await send(simulator, { to: 'cheia@simulador.test', dsn: null })
    const reports = await listener.wait(2)
    expect(actionsOf(reports.map(({ raw }) => raw))).toEqual(['delayed', 'failed'])
    expect(reportFields(reports[0]!, 'delivery-status')[0]).not.toHaveProperty('Original-Envelope-Id')
    expect(reportFields(reports[0]!, 'delivery-status')[1]).not.toHaveProperty('Original-Recipient')
    expect((await simulator.message('entregue@simulador.test')).reports).toEqual([])
  })

  test('a mail with an empty sender is never reported on', async () => {
    const { simulator } = await carriersForTest()
    for (const name of ['devolvido', 'reclama', 'ausente', 'confirma']) {
      await send(simulator, { to: `${name}@simulador.test`, envelopeFrom: '' })
      expect((await simulator.message(`${name}@simulador.test`)).reports).toEqual([])
    }
  })
})

describe('the message that comes back with a failure', () => {
  test('the whole mail comes back if the sender asked for it', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'devolvido@simulador.test', text: 'Texto inteiro, com ç.', dsn: { return: 'full' } })
    const [report] = await listener.wait(1)
    expect(partTypes(report!)).toEqual(['text/plain', 'message/delivery-status', 'message/rfc822'])
    const { id } = await simulator.message('devolvido@simulador.test')
    const sent = await (await fetch(`${simulator.url}/simulator/messages/${id}/raw`)).text()
    expect(report!.raw).toContain(`Content-Type: message/rfc822\r\nContent-Transfer-Encoding: 8bit\r\n\r\n${sent}`)
  })

  test('a large mail comes back as headers alone', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'devolvido@simulador.test', text: 'x '.repeat(60_000), dsn: { return: 'full' } })
    const [report] = await listener.wait(1)
    expect(partTypes(report!)[2]).toBe('text/rfc822-headers')
    expect(report!.raw.length).toBeLessThan(10_000)
  })
})

describe('routes', () => {
  test('reports wait until a gateway registers', async () => {
    const simulator = await simulatorForTest()
    await send(simulator, { to: 'devolvido@simulador.test' })
    await vi.waitFor(async () => {
      const { reports } = await simulator.message('devolvido@simulador.test')
      expect(reports).toMatchObject([{ state: 'waiting', detail: expect.stringContaining('Nenhum gateway') }])
    })
    const listener = await listenerForTest()
    await register(simulator, listener.url)
    await listener.wait(1)
    expect((await settled(simulator, 'devolvido@simulador.test')).reports).toMatchObject([{ state: 'done' }])
  })

  test('a report goes to the newest gateway that answers', async () => {
    const simulator = await simulatorForTest()
    const [first, second, third] = [await listenerForTest(), await listenerForTest(), await listenerForTest()]
    for (const { url } of [first, second, third]) await register(simulator, url)
    await third.close()
    await send(simulator, { to: 'devolvido@simulador.test' })
    await second.wait(1)
    await register(simulator, first.url)
    await send(simulator, { to: 'devolvido@simulador.test' })
    await first.wait(1)
    expect(second.received.length).toBe(1)
    const { body } = await simulator.ask('/simulator/routes')
    expect(body).toEqual({ bounces: [first.url, third.url, second.url], callbacks: [] })
  })

  test('a deferred report is retried', async () => {
    const simulator = await simulatorForTest()
    let tries = 0
    const listener = await listenerForTest(() => (++tries < 3 ? 451 : null))
    await register(simulator, listener.url)
    await send(simulator, { to: 'devolvido@simulador.test' })
    await listener.wait(1)
    expect(tries).toBe(3)
  })

  test('a refused report is not retried', async () => {
    const simulator = await simulatorForTest()
    let tries = 0
    const listener = await listenerForTest(() => {
      tries++
      return 550
    })
    await register(simulator, listener.url)
    await send(simulator, { to: 'devolvido@simulador.test' })
    expect((await settled(simulator, 'devolvido@simulador.test')).reports).toMatchObject([
      { state: 'refused', detail: expect.stringMatching(/^550 /) },
    ])
    expect(tries).toBe(1)
  })

  test('a reply that is refused at the From address goes to the envelope sender', async () => {
    const simulator = await simulatorForTest()
    const listener = await listenerForTest(to => (to === BOUNCES ? null : 550))
    await register(simulator, listener.url)
    await send(simulator, { to: 'responde@simulador.test', dsn: null })
    const [reply] = await listener.wait(1)
    expect(reply!.email.to).toMatchObject([{ address: 'avisos@exemplo.test' }])
    expect(reply!.email.text?.trim()).toBe('Recebido, obrigado.')
  })

  test('an idle connection is closed, so that the other side can stop at once', async () => {
    const { simulator, listener } = await carriersForTest()
    await send(simulator, { to: 'devolvido@simulador.test' })
    await listener.wait(1)
    await listener.close()
    expect(listener.received.length).toBe(1)
  })

  test('only an address on this machine can be registered', async () => {
    const simulator = await simulatorForTest()
    const put = (body: unknown) => simulator.ask('/simulator/routes', { method: 'PUT', body })
    for (const bounces of [
      'smtp://192.0.2.1:25',
      'smtp://mail.example.com:25',
      'http://127.0.0.1:25',
      'smtp://127.0.0.1',
      'x',
      7,
    ]) {
      expect(await put({ bounces })).toMatchObject({ status: 400, body: { statusCode: 400, error: 'Bad Request' } })
    }
    expect(await put({})).toMatchObject({ status: 400, body: { message: expect.stringContaining('bounces') } })
    expect((await simulator.ask('/simulator/routes')).body).toEqual({ bounces: [], callbacks: [] })
  })
})

describe('actions by hand', () => {
  const act = (simulator: TestSimulator, id: string, body: unknown) =>
    simulator.ask(`/simulator/messages/${id}/actions`, { method: 'POST', body })

  test('every action makes the recipient do it', async () => {
    const { simulator, listener } = await carriersForTest()
    const headers = { 'Disposition-Notification-To': '<avisos@exemplo.test>' }
    await send(simulator, { to: 'maria@example.com', dsn: { notify: ['failure'] }, headers })
    const { id } = await simulator.message('maria@example.com')
    const wanted = { bounce: 'failed', reply: 'reply', complain: 'complaint', confirm: 'confirmation', away: 'away' }
    for (const [action, type] of Object.entries(wanted)) {
      expect(await act(simulator, id, { action, text: 'Não reconheço esta dívida.' })).toMatchObject({
        status: 202,
        body: { type, state: expect.any(String) },
      })
    }
    const received = await listener.wait(5)
    const reply = received.find(({ email }) => email.inReplyTo !== undefined && email.text?.includes('dívida'))!
    expect(reply.email.text?.trim()).toBe('Não reconheço esta dívida.')
    expect((await settled(simulator, 'maria@example.com')).reports.map(({ type }) => type)).toEqual(Object.values(wanted))
  })

  test('an action that a real server would not do is refused with the reason', async () => {
    const { simulator } = await carriersForTest()
    await send(simulator, { to: 'maria@example.com', dsn: { notify: ['never'] } })
    const { id } = await simulator.message('maria@example.com')
    for (const action of ['deliver', 'bounce']) {
      expect(await act(simulator, id, { action })).toMatchObject({
        status: 409,
        body: { statusCode: 409, message: 'O remetente não pediu este aviso (NOTIFY=NEVER).', error: 'Conflict' },
      })
    }
    expect(await act(simulator, id, { action: 'open' })).toMatchObject({ status: 409 })
    expect((await simulator.message('maria@example.com')).reports).toEqual([])
  })

  test('unknown actions, texts and messages are refused', async () => {
    const { simulator } = await carriersForTest()
    await send(simulator, { to: 'maria@example.com' })
    const { id } = await simulator.message('maria@example.com')
    for (const body of [{}, { action: 'constructor' }, { action: 7 }, { action: 'reply', text: 7 }, [], 'x']) {
      expect(await act(simulator, id, body), JSON.stringify(body)).toMatchObject({ status: 400, body: { statusCode: 400 } })
    }
    expect(await act(simulator, 'nope', { action: 'reply' })).toMatchObject({ status: 404, body: { statusCode: 404 } })
  })
})
