import { expect, onTestFinished, test } from 'vitest'
import { createTemplateRunner, type FilledTemplate } from '../../src/channels/template-runner.js'
import type { JsonObject } from '../../src/domain/notification.js'
import { MAX_TEMPLATE_VARIABLES } from '../../src/domain/send/template.js'

const hostile = { account: 'hostile', mode: 'live' } as const
const honest = { account: 'honest', mode: 'live' } as const

function open(limitMs = 60_000) {
  const runner = createTemplateRunner(limitMs)
  onTestFinished(() => runner.close())
  return runner
}

const filled = (content: string, values: JsonObject = {}): FilledTemplate => ({
  html: false,
  content,
  variables: Object.keys(values).map(name => ({ name, required: true })),
  values,
})

/** The engine looks at its clock between tags only: nothing but the end of the thread ends this one in time. */
const ENDLESS = filled('{% assign none = (1..900000) | where_exp: "x", "x == 0 or x == 0 or x == 0" %}{{ none.size }}')
const ordinary = filled('{% if nome %}Olá, {{ nome }}{% endif %}', { nome: 'Ana' })

test('a template that would not end is ended with its thread, and others are filled in meanwhile', async () => {
  const runner = open(1_500)
  let ended = false
  const endless = runner.render(hostile, ENDLESS).finally(() => {
    ended = true
  })
  expect(await runner.render(honest, ordinary)).toEqual({ text: 'Olá, Ana' })
  expect(ended).toBe(false)
  expect(await endless).toEqual({ fault: 'limits' })
  expect(await runner.render(honest, ordinary)).toEqual({ text: 'Olá, Ana' })
})

test('templates that wait for one of their account that is given up come back later; others do not notice', async () => {
  const runner = open(1_000)
  const endless = runner.render(hostile, ENDLESS)
  const behind = runner.render(hostile, ordinary).catch(error => error.code)
  expect(await runner.render(honest, ordinary)).toEqual({ text: 'Olá, Ana' })
  expect(await endless).toEqual({ fault: 'limits' })
  expect(await behind).toBe('overloaded')
  // Nothing of the account is under way any more, so that its next template has its turn.
  expect(await runner.render(hostile, ordinary)).toEqual({ text: 'Olá, Ana' })
  const again = runner.render(hostile, ENDLESS)
  await expect(runner.render(hostile, ordinary)).rejects.toMatchObject({ code: 'overloaded' })
  expect(await again).toEqual({ fault: 'limits' })
})

test('plain templates need no turn: they are filled in while one of their account takes too long', async () => {
  const runner = open(1_000)
  const endless = runner.render(hostile, ENDLESS)
  expect(await runner.render(hostile, filled('Olá, {{ nome }}', { nome: 'Ana' }))).toEqual({ text: 'Olá, Ana' })
  expect(await endless).toEqual({ fault: 'limits' })
})

test('checks answer the same from a thread', async () => {
  const runner = open()
  expect(await runner.check(honest, '{% if vip %}{{ nome }}{% endif %}', null)).toEqual([
    { name: 'vip', required: true },
    { name: 'nome', required: true },
  ])
  expect(await runner.check(honest, '{% if vip %}{% endif %}', [])).toEqual({ fault: 'undeclared', variable: 'vip' })
  expect(await runner.check(honest, '{% if vip %}', null)).toEqual({ fault: 'syntax', line: 1 })
  const many = Array.from({ length: MAX_TEMPLATE_VARIABLES + 1 }, (_, n) => `{{ v${n} }}`).join('')
  expect(await runner.check(honest, many, null)).toEqual({ fault: 'variables' })
})
