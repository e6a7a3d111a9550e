import { expect, onTestFinished, test } from 'vitest'
import { databaseForTest } from '../../support/database.js'
import { letterTo } from './letters.js'
import { eCartaSubject } from './subjects.js'

test('a letter that failed is not uploaded with the others of its lot', async () => {
  const { pool } = await databaseForTest()
  const post = await eCartaSubject.start()
  const carrier = await post.provider({ pool, onEvents: async () => {} }).open(post.url)
  onTestFinished(() => carrier.close())
  const [givenUp, tried] = [letterTo('01000001'), letterTo('01000001')]
  post.behave('refuse for a while')
  const failed = await Promise.allSettled([givenUp, tried].map(letter => carrier.send(letter, AbortSignal.timeout(15_000))))
  expect(failed).toMatchObject([{ reason: { kind: 'temporary' } }, { reason: { kind: 'temporary' } }])
  post.behave('accept')
  await carrier.send(tried, AbortSignal.timeout(15_000))
  expect(post.taken()).toEqual([Buffer.from(tried.pdf).toString()])
})
