import { describe, expect, test } from 'vitest'
import { importsOf, listFiles, readSource, withoutComments } from '../support/sources.js'

/**
 * The rooms of src/ and who may enter which. Imports go down only: a room knows those below it, never its neighbours.
 * The simulator is the carriers' side: it shares nothing with us but words, and only compose starts it.
 */
const FLOORS = [['top', 'cli', 'wiring'], ['http'], ['engine', 'webhooks', 'evidence'], ['store', 'channels'], ['domain']]
/** The files of src/ itself. */
const TOP = [
  'main',
  'compose',
  'compose-worker',
  'compose-database',
  'compose-simulator',
  'compose-webhooks',
  'supervisor',
  'demo',
  'banner',
  'config',
  'log',
  'master-key',
]

const sources = listFiles('src').filter(path => path.endsWith('.ts'))
const code = (path: string): string => withoutComments(readSource(path))

const roomOf = (path: string): string => (path.split('/').length === 2 ? 'top' : path.split('/')[1]!)
const floorOf = (room: string): number => FLOORS.findIndex(rooms => rooms.includes(room))

/** Why one file may not import another, or null when it may. */
function objection(from: string, to: string): string | null {
  const [here, there] = [roomOf(from), roomOf(to)]
  if (here === there) return null
  if (here === 'simulator') return there === 'domain' ? null : 'the simulator imports domain at most'
  if (there === 'simulator') return from === 'src/compose-simulator.ts' ? null : 'only compose-simulator imports the simulator'
  if (floorOf(here) === 0 && floorOf(there) === 0) return null
  return floorOf(there) > floorOf(here) ? null : `${here} does not import ${there}`
}

describe('imports', () => {
  test('the rule itself: down is allowed, up and sideways is not', () => {
    const allowed = [
      ['src/main.ts', 'src/cli/start.ts'],
      ['src/cli/start.ts', 'src/compose.ts'],
      ['src/compose-simulator.ts', 'src/simulator/smsc.ts'],
      ['src/compose.ts', 'src/store/postgres.ts'],
      ['src/http/server.ts', 'src/engine/accept.ts'],
      ['src/http/metrics.ts', 'src/store/postgres.ts'],
      ['src/engine/accept.ts', 'src/store/idempotency.ts'],
      ['src/engine/dispatch.ts', 'src/channels/provider.ts'],
      ['src/channels/sms/smpp.ts', 'src/domain/phone.ts'],
      ['src/channels/sms/smpp.ts', 'src/channels/provider.ts'],
      ['src/simulator/smsc.ts', 'src/domain/phone.ts'],
    ] as const
    const forbidden = [
      ['src/http/server.ts', 'src/config.ts'],
      ['src/http/server.ts', 'src/cli/start.ts'],
      ['src/engine/accept.ts', 'src/http/errors.ts'],
      ['src/engine/accept.ts', 'src/webhooks/deliver.ts'],
      ['src/webhooks/deliver.ts', 'src/engine/accept.ts'],
      ['src/store/postgres.ts', 'src/engine/accept.ts'],
      ['src/store/postgres.ts', 'src/log.ts'],
      ['src/store/postgres.ts', 'src/channels/provider.ts'],
      ['src/channels/sms/smpp.ts', 'src/store/postgres.ts'],
      ['src/domain/phone.ts', 'src/store/postgres.ts'],
      ['src/domain/phone.ts', 'src/config.ts'],
      ['src/simulator/smsc.ts', 'src/channels/provider.ts'],
      ['src/cli/start.ts', 'src/simulator/smsc.ts'],
      ['src/engine/accept.ts', 'src/simulator/smsc.ts'],
    ] as const
    for (const [from, to] of allowed) expect(objection(from, to), `${from} → ${to}`).toBeNull()
    for (const [from, to] of forbidden) expect(objection(from, to), `${from} → ${to}`).not.toBeNull()
  })

  test('the reader of imports sees every form of them', () => {
    const source = `
      import a from './a.js'
      import { type B, b } from '../b.js'
      import type { C } from "./c.js"
      import './d.js'
      export { e } from './e.js'
      const f = await import('./f.js')
      import {
        g,
      } from './g.js'
      // import h from './h.js'
      /* import i from './i.js' */
      import pg from 'pg'`
    const found = importsOf('src/http/x.ts', source).map(({ name, path }) => path ?? name)
    const own = ['http/a', 'b', 'http/c', 'http/d', 'http/e', 'http/f', 'http/g'].map(name => `src/${name}.ts`)
    expect(found).toEqual([...own, 'pg'])
    expect(importsOf('src/http/x.ts', source).filter(({ typesOnly }) => typesOnly)).toMatchObject([{ name: './c.js' }])
  })

  test('every file lies in a room that is known here', () => {
    expect(sources.length).toBeGreaterThan(40)
    for (const path of sources) {
      if (roomOf(path) === 'top') expect(TOP.map(name => `src/${name}.ts`)).toContain(path)
      else expect([...FLOORS.flat(), 'simulator'], path).toContain(roomOf(path))
    }
  })

  test('go down only, and to files that exist', () => {
    const objections: string[] = []
    for (const from of sources) {
      for (const { path: to } of importsOf(from)) {
        if (to === null) continue
        if (!sources.includes(to)) objections.push(`${from} imports ${to}, which is not in src/`)
        const reason = objection(from, to)
        if (reason !== null) objections.push(`${from} imports ${to}: ${reason}`)
      }
    }
    expect(objections).toEqual([])
  })

  test('make no circles, but for types', () => {
    const circles: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: string[]): void => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      if (trail.includes(path) || done.has(path)) return
      for (const { path: next, typesOnly } of importsOf(path)) if (next !== null && !typesOnly) visit(next, [...trail, path])
      done.add(path)
    }
    for (const path of sources) visit(path, [])
    expect(circles).toEqual([])
  })

  test('domain does no input or output: of Node it uses what computes', () => {
    const pure = ['node:crypto', 'node:url', 'node:util', 'node:buffer', 'node:assert']
    for (const path of sources.filter(path => roomOf(path) === 'domain')) {
      for (const { name } of importsOf(path)) if (name.startsWith('node:')) expect(pure, path).toContain(name)
    }
  })

  test('what speaks HTTP or SQL is imported where that is spoken', () => {
    const homes: Record<string, (path: string) => boolean> = {
      fastify: path => ['http', 'simulator'].includes(roomOf(path)) || path === 'src/compose.ts',
      pg: path => roomOf(path) === 'store',
      commander: path => roomOf(path) === 'cli' || path === 'src/main.ts',
    }
    for (const path of sources) {
      for (const { name } of importsOf(path)) {
        const isAtHome = homes[name]
        if (isAtHome !== undefined) expect(isAtHome(path), `${path} imports ${name}`).toBe(true)
      }
    }
  })
})

describe('words that belong to one room', () => {
  /** A string that begins as a statement does. */
  const SQL =
    /(['"`])\s*(select\s|insert\s+into\s|update\s+\w+\s+(\w+\s+)?set\s|delete\s+from\s|with\s+\w+\s+as\s|(create|alter|drop)\s+(table|index|function|database)\s)|\b(query|run)\([^\n]*(['"`])(begin|commit|rollback)\7/i

  test('SQL is written in store/ only, the engine included', () => {
    expect("run(db, 'select 1')").toMatch(SQL)
    expect('run(db, `\n  insert into x values (1)`)').toMatch(SQL)
    expect("query('commit')").toMatch(SQL)
    expect("pick(['commit', 'hash']); log.info('updated the delivery, set and selected')").not.toMatch(SQL)
    const found = sources.filter(path => roomOf(path) !== 'store').filter(path => SQL.test(code(path)))
    expect(found).toEqual([])
    expect(sources.filter(path => roomOf(path) === 'store').filter(path => SQL.test(code(path))).length).toBeGreaterThan(5)
  })

  /** Answering with a status. */
  const ANSWER = /\b(code|status|writeHead)\(\s*[1-5]\d\d\b|\bstatusCode\b/
  /** Reasoning about one. */
  const STATUS = /\b(status|code|statusCode)\b[^\n'"]{0,12}(===|!==|<|>|:)\s*[45]\d\d\b/

  test('HTTP is answered in http/ only', () => {
    expect('reply.code(404)').toMatch(ANSWER)
    expect('{ statusCode: 400 }').toMatch(ANSWER)
    const found = sources.filter(path => !['http', 'simulator'].includes(roomOf(path))).filter(path => ANSWER.test(code(path)))
    expect(found).toEqual([])
  })

  test('domain, engine, store and evidence know refusals, not status codes', () => {
    expect('if (error.status === 404)').toMatch(STATUS)
    expect('const x = { status: 503 }').toMatch(STATUS)
    const inner = sources.filter(path => ['top', 'domain', 'engine', 'store', 'evidence'].includes(roomOf(path)))
    expect(inner.filter(path => STATUS.test(code(path)))).toEqual([])
  })

  test('the environment is read by config.ts only; others hand it on whole, or give a child its PATH', () => {
    for (const path of sources.filter(path => path !== 'src/config.ts')) {
      for (const [use] of code(path).matchAll(/\bprocess\.env\s*(\.\s*\w+|\[[^\]]*\])/g)) {
        expect(use, path).toBe('process.env.PATH')
      }
    }
  })
})

describe('names', () => {
  const all = listFiles().filter(path => path.endsWith('.ts'))

  test('files are lower-case words joined by hyphens', () => {
    for (const path of all) expect(path.split('/').at(-1)).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.config|\.d)?\.ts$/)
  })

  test('no file or folder is a drawer for anything: utils, helpers, manager, service, common, index', () => {
    for (const path of all) {
      for (const word of path.split(/[/.-]/)) {
        expect(
          ['util', 'utils', 'helper', 'helpers', 'manager', 'managers', 'service', 'services', 'common', 'misc', 'index'],
          path,
        ).not.toContain(word)
      }
    }
  })

  test('no file passes on what others export', () => {
    for (const path of sources) expect(code(path), path).not.toMatch(/\bexport\s+(type\s+)?(\*|\{[^}]*\})\s*(as\s+\w+\s*)?from\b/)
  })
})
