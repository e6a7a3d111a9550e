import { expect, onTestFinished, test } from 'vitest'
import type { Queue } from '../../src/domain/queue.js'
import { createDueSignal, listenDue, signalDue } from '../../src/store/delivery/due-signal.js'
import { Servers } from '../../src/store/servers.js'
import { databaseForTest } from '../support/database/database.js'

test('a worker hears which queues have something due, and whether webhooks have', async () => {
  const { pool, url } = await databaseForTest()
  const heard: (Queue[] | 'all' | 'webhooks')[] = []
  const listener = listenDue(new Servers(url), {
    queues: { notify: queues => heard.push(queues === undefined ? 'all' : [...queues]) },
    webhooks: { notify: () => heard.push('webhooks') },
  })
  onTestFinished(() => listener.close())
  const isHeard = async (): Promise<boolean> => {
    await signalDue(pool)
    return heard.length > 0
  }
  await expect.poll(isHeard).toBe(true)
  expect(heard.slice(0, 2)).toEqual(['all', 'webhooks'])
  await signalDue(pool, ['letter test'])
  await expect.poll(() => heard.at(-1)).toEqual(['letter test'])
  const next = async (act: () => void): Promise<unknown[]> => {
    heard.length = 0
    act()
    await expect.poll(() => heard.length).toBeGreaterThan(0)
    return [...heard]
  }
  const { queues, webhooks } = createDueSignal(pool)
  expect(await next(() => queues.notify(['email live', 'sms test']))).toEqual([['email live', 'sms test']])
  expect(await next(() => webhooks.notify())).toEqual([['webhooks'], 'webhooks'])
  expect(await next(() => queues.notify())).toEqual(['all', 'webhooks'])
})
