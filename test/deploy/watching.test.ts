import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { identifyCarrier, simulatedName } from '../../src/channels/carrier-name.js'
import { channelModules, channels } from '../../src/channels/registry.js'
import { reportHealth } from '../../src/store/carrier/health.js'
import { addTotals } from '../../src/store/carrier/totals.js'
import { placeHold } from '../../src/store/delivery/holds.js'
import { unfinishedStates } from '../../src/store/delivery/queue.js'
import { countStart } from '../../src/store/processes.js'
import { gatewayForFile, gatewayForTest, readMetrics } from '../support/gateway/gateway.js'
import { send, validSend } from '../support/gateway/requests.js'
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

const { database, gateway, account } = await gatewayForFile()

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

interface Selector {
  metric: string
  label: string
  /** Alternatives of a regular expression stand alone: each must find something. */
  patterns: string[]
}

const selectorsIn = (text: string): Selector[] =>
  [...text.matchAll(/\b(\w+)\{([^}]*)\}/g)].flatMap(([, metric, labels]) =>
    [...labels!.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label, operator, value]) => ({
      metric: metric!,
      label: label!,
      patterns: operator!.endsWith('~') ? value!.split('|') : [value!.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')],
    })),
  )

test('every label, route, state, channel and carrier that a rule, the board or a test of the rules names is one that /metrics tells', async () => {
  const [{ scrape_configs }] = readYaml<{ scrape_configs: { job_name: string }[] }>(
    readSource('deploy/prometheus/prometheus.yaml'),
  ) as [{ scrape_configs: { job_name: string }[] }]
  const none = { sent: 0, temporary: 0, throttled: 0, permanent: 0, uncertain: 0, durations: [1], seconds: 1 }
  const lanes = channelModules.flatMap(({ channel, providers }) =>
    Object.keys(providers).flatMap(name =>
      [identifyCarrier({ name }, new URL(`${name}://user:secret@carrier.example.com`)), simulatedName(name)].map(carrier => ({
        channel,
        mode: 'live' as const,
        carrier,
      })),
    ),
  )
  await addTotals(
    database.pool,
    lanes.map(lane => ({ ...lane, ...none })),
  )
  await reportHealth(
    database.pool,
    account.id,
    lanes.map(lane => ({ ...lane, state: 'open', sent: 0, failed: 0, rate: 1 })),
  )
  await database.pool.query(
    `with made as materialized (
       select uuidv7() as id, c.channel, m.mode, s.state
       from unnest($2::text[]) as s(state), unnest($3::text[]) as c(channel), unnest(array['live', 'test']) as m(mode)
     ), notifications as (
       insert into notification (id, account_id, mode, accepted_at, recipient_name, subject, content)
       select id, $1, mode, now(), 'Maria', 'Aviso', '' from made)
     insert into delivery (notification_id, channel, account_id, mode, state, due_at, accepted_at, step, condition, recipient, request, lease_until, lease_owner)
     select id, channel, $1, mode, state, now() - interval '1 hour', now(), 1, 'always', 'x', '{}', now() + interval '1 hour', $1 from made`,
    [account.id, unfinishedStates, channels],
  )
  await placeHold(database.pool, { channel: 'sms', carrier: null, account: null, reason: 'x', by: 'x' })
  await countStart(database.pool, 'worker')
  // A gateway keeps its figures for a few seconds, and this file's has some.
  const { url } = await gatewayForTest(database.pool)
  await send(url, 'no token', validSend)
  await fetch(`${url}/readyz`)
  const told = new Map<string, Set<string>>()
  for (const [, metric, labels] of (await readMetrics(url)).matchAll(/^(\w+)\{(.*)\} \S+$/gm))
    for (const [, label, value] of labels!.matchAll(/(\w+)="([^"]*)"/g)) {
      const key = `${metric} ${label}`
      told.set(key, (told.get(key) ?? new Set()).add(value!))
    }
  // Prometheus itself tells of these, and a status of each class is possible.
  const jobs = new Set(scrape_configs.map(({ job_name }) => job_name))
  const valuesOf = ({ metric, label }: Selector): Iterable<string> =>
    (label === 'job' ? jobs : label === 'status' ? ['200', '401', '503'] : told.get(`${metric} ${label}`)) ?? []
  const finds = (selector: Selector): string[] =>
    selector.patterns
      .filter(pattern => ![...valuesOf(selector)].some(value => new RegExp(`^(?:${pattern})$`).test(value)))
      .map(pattern => `${selector.metric}{${selector.label}: ${pattern}}`)
  const named = [...rules.map(({ expr }) => expr), ...boardExpressions].flatMap(selectorsIn)
  expect(named.length).toBeGreaterThan(20)
  expect(named.flatMap(finds)).toEqual([])
  // What these are called is up to the installation.
  const free = ['instance', 'version', 'target', 'carrier', 'le']
  const series = [...readSource('deploy/prometheus/rules.test.yaml').matchAll(/series: '([^']*)'/g)].flatMap(([, text]) =>
    selectorsIn(text!),
  )
  expect(series.length).toBeGreaterThan(50)
  expect(series.filter(({ label }) => !free.includes(label)).flatMap(finds)).toEqual([])
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
  const namesOf = (some: typeof tried): string[] => [...new Set(some.map(({ alertname }) => alertname))]
  expect(namesOf(tried.filter(({ exp_alerts = [] }) => exp_alerts.length > 0))).toEqual(names)
  expect(namesOf(tried.filter(({ exp_alerts = [] }) => exp_alerts.length === 0))).toEqual(names)
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
