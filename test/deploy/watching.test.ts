import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { addTotals } from '../../src/store/carrier/totals.js'
import { gatewayForFile, readMetrics } from '../support/gateway/gateway.js'
import { findProgram } from '../support/programs/other-programs.js'
import { ROOT, readSource } from '../support/sources.js'
import { readYaml } from './yaml.js'

/** Alarms, their tests and runbooks, and the board: what they name exists. */
interface Rules {
  groups: { rules: { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> }[] }[]
}

const { groups } = readYaml<Rules>(readSource('deploy/prometheus/rules.yaml'))[0]!
const rules = groups.flatMap(group => group.rules)
const board = JSON.parse(readSource('deploy/grafana/carteiro.json')) as {
  panels: { title: string; targets?: { expr: string }[]; gridPos: { x: number; w: number } }[]
}
const boardExpressions = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const namesIn = (text: string): string[] => text.match(/\b(carteiro|process|nodejs)_[a-z_]+\b/g) ?? []

const { database, gateway } = await gatewayForFile()

test('every metric that a rule, the board or a document names is one that /metrics tells of, and no metric is left untold', async () => {
  const carrier = { channel: 'email', mode: 'live', carrier: 'smtp:a', durations: [1], seconds: 1 } as const
  await addTotals(database.pool, [{ ...carrier, sent: 1, temporary: 0, throttled: 0, permanent: 0, uncertain: 0 }])
  const told = await readMetrics(gateway.url)
  const types = new Map([...told.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]))
  const isTold = (name: string): boolean => {
    const base = name.replace(/_(bucket|count|sum)$/, '')
    return types.has(name) || types.get(base) === 'histogram'
  }
  const documents = ['docs/operacao.md', 'docs/alarmes.md'].flatMap(path => {
    // Roles of the database have such names too.
    return [...readSource(path).matchAll(/`(carteiro_[a-z_]+)/g)]
      .map(([, name]) => name!)
      .filter(name => !/^carteiro_(dono|app)$/.test(name))
  })
  const named = new Set([...rules.map(({ expr }) => expr), ...boardExpressions].flatMap(namesIn))
  expect(named.size).toBeGreaterThan(25)
  expect([...named, ...documents].filter(name => !isTold(name))).toEqual([])
  const own = [...types.keys()].filter(name => name.startsWith('carteiro_'))
  expect(
    own.filter(name => ![...named].some(used => used.replace(/_(bucket|count|sum)$/, '') === name || used === name)),
  ).toEqual([])
  expect(own.filter(name => !documents.includes(name))).toEqual([])
})

test('every alarm has a severity, a sentence and its section in docs/alarmes.md, and every section is of an alarm', () => {
  const sections = [...readSource('docs/alarmes.md').matchAll(/^### (\w+)$/gm)].map(([, name]) => name!)
  expect(rules.length).toBeGreaterThan(15)
  for (const { alert, labels, annotations } of rules) {
    expect(['critical', 'warning'], alert).toContain(labels.severity)
    expect(annotations.summary, alert).toMatch(/\.$/)
    expect(annotations.runbook_url, alert).toBe(`docs/alarmes.md#${alert.toLowerCase()}`)
  }
  expect(sections).toEqual(rules.map(({ alert }) => alert))
})

test('every alarm is tried by the tests of the rules, firing and quiet', () => {
  interface Tests {
    tests: { alert_rule_test: { alertname: string; exp_alerts?: unknown[] }[] }[]
  }
  const [{ tests }] = readYaml<Tests>(readSource('deploy/prometheus/rules.test.yaml')) as [Tests]
  const tried = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  const names = rules.map(({ alert }) => alert)
  expect(tried.filter(({ exp_alerts = [] }) => exp_alerts.length > 0).map(({ alertname }) => alertname)).toEqual(names)
  expect(tried.filter(({ exp_alerts = [] }) => exp_alerts.length === 0).map(({ alertname }) => alertname)).toEqual(names)
})

const promtool = findProgram('promtool')
const note = promtool === null ? ' (missing: promtool)' : ''
test.skipIf(promtool === null)(`promtool takes the rules, and their tests hold${note}`, () => {
  const run = (...args: string[]) => spawnSync(promtool!, args, { cwd: join(ROOT, 'deploy/prometheus'), encoding: 'utf8' })
  for (const args of [
    ['check', 'rules', 'rules.yaml'],
    ['check', 'config', '--syntax-only', 'prometheus.yaml'],
    ['test', 'rules', 'rules.test.yaml'],
  ]) {
    const { status, stdout, stderr } = run(...args)
    expect(status, `${args.join(' ')}\n${stdout}${stderr}`).toBe(0)
  }
})

test('the panels of the board lie side by side, and each asks something', () => {
  for (const { title, targets, gridPos } of board.panels) {
    expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
    if (targets !== undefined) expect(targets.length, title).toBeGreaterThan(0)
  }
})
