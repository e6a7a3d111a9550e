import { describe, expect, test } from 'vitest'
import { importsOf, listFiles, readSource, withoutComments } from '../support/sources.js'

/**
 * The rooms and the imports between them. Imports go down only: a room imports the rooms below it, never its neighbours. The
 * simulator is another program: it shares the words of domain with the gateway and nothing else.
 */
const FLOORS = [
  ['top', 'cli'],
  ['app'],
  ['http'],
  ['engine', 'webhooks', 'evidence'],
  ['channels'],
  ['store'],
  ['runtime'],
  ['domain'],
]

const sources = [...listFiles('src'), ...listFiles('simulator'), ...listFiles('client')].filter(path => path.endsWith('.ts'))
const code = (path: string): string => withoutComments(readSource(path))

function roomOf(path: string): string {
  const [root, room, ...rest] = path.split('/')
  if (root === 'simulator' || root === 'client') return root
  return rest.length === 0 ? 'top' : room!
}
const floorOf = (room: string): number => FLOORS.findIndex(rooms => rooms.includes(room))

/** In a channel's folder, the parts that compose the channel: they may read and write its tables. The others speak protocols. */
const COMPOSES =
  /\/(channel|contract|delivery|preparation|command|open-keyring|proof|tracking|recordings|call-lookups|keys)\.ts$|-(store|journal)\.ts$/
/** Shared by the channels, and not a provider. */
const isShared = (path: string): boolean => path.split('/').length === 3

/** Two processes, which share what lies above their folders. */
const isRole = (path: string, role: 'api' | 'worker'): boolean => path.startsWith(`src/app/${role}/`)

/** Why one file may not import another, or null when it may. */
function objection(from: string, to: string): string | null {
  const [here, there] = [roomOf(from), roomOf(to)]
  // What senders install: commands use it as they do.
  if (there === 'client' || here === 'client') return here === there || here === 'cli' ? null : 'only commands use the client'
  if (here === 'simulator' && there !== 'simulator') return there === 'domain' ? null : 'the simulator imports domain at most'
  if (there === 'simulator' && here !== 'simulator')
    return from === 'src/cli/program.ts' && to === 'simulator/main.ts' ? null : 'only the list of commands names the simulator'
  if (here === 'channels' && there === 'channels') return betweenChannels(from, to)
  if (isRole(from, 'api') && isRole(to, 'worker')) return 'the api does not import the worker'
  if (isRole(from, 'worker') && isRole(to, 'api')) return 'the worker does not import the api'
  if (here === there) return null
  if (floorOf(here) === 0 && floorOf(there) === 0) return null
  if (here === 'channels' && there === 'store' && !isShared(from) && !COMPOSES.test(from))
    return 'a provider does not import the store'
  return floorOf(there) > floorOf(here) ? null : `${here} does not import ${there}`
}

/** One channel does not know another; only the registry and what is built on it know them all. */
function betweenChannels(from: string, to: string): string | null {
  if (isShared(to) || from === 'src/channels/registry.ts') return null
  return from.split('/')[2] === to.split('/')[2] ? null : 'a channel imports its own folder and what the channels share'
}

describe('imports', () => {
  test('the rule itself: down is allowed, up and sideways is not', () => {
    const allowed = [
      ['src/main.ts', 'src/cli/program.ts'],
      ['src/cli/program.ts', 'simulator/main.ts'],
      ['src/cli/installation/start.ts', 'src/app/api/api.ts'],
      ['src/cli/sending/send.ts', 'client/client.ts'],
      ['src/app/api/api.ts', 'src/store/postgres.ts'],
      ['src/http/server.ts', 'src/engine/accept/accept.ts'],
      ['src/http/metrics/metrics.ts', 'src/store/postgres.ts'],
      ['src/http/gw/status.ts', 'src/channels/registry.ts'],
      ['src/engine/accept/accept.ts', 'src/store/notification/notifications.ts'],
      ['src/engine/deliver/lane.ts', 'src/channels/provider.ts'],
      ['src/channels/registry.ts', 'src/channels/sms/channel.ts'],
      ['src/channels/sms/smpp.ts', 'src/domain/text/phone.ts'],
      ['src/channels/sms/smpp.ts', 'src/channels/provider.ts'],
      ['src/channels/voice/delivery.ts', 'src/store/postgres.ts'],
      ['src/channels/letter/letter-store.ts', 'src/store/postgres.ts'],
      ['src/store/webhook/queue.ts', 'src/store/postgres.ts'],
      ['simulator/sms/smsc.ts', 'src/domain/text/phone.ts'],
      ['simulator/sms/smsc.ts', 'simulator/faults.ts'],
    ] as const
    const forbidden = [
      ['src/http/server.ts', 'src/app/config.ts'],
      ['src/http/server.ts', 'src/cli/installation/start.ts'],
      ['src/app/api/api.ts', 'src/app/worker/lanes.ts'],
      ['src/app/worker/worker.ts', 'src/app/api/api.ts'],
      ['src/app/api/api.ts', 'client/client.ts'],
      ['client/client.ts', 'src/domain/text/phone.ts'],
      ['src/engine/accept/accept.ts', 'src/http/errors.ts'],
      ['src/engine/accept/accept.ts', 'src/webhooks/deliverer.ts'],
      ['src/webhooks/deliverer.ts', 'src/engine/accept/accept.ts'],
      ['src/store/postgres.ts', 'src/engine/accept/accept.ts'],
      ['src/store/postgres.ts', 'src/app/log.ts'],
      ['src/store/postgres.ts', 'src/channels/provider.ts'],
      ['src/channels/sms/smpp.ts', 'src/store/postgres.ts'],
      ['src/channels/letter/e-carta/e-carta.ts', 'src/store/postgres.ts'],
      ['src/channels/sms/smpp.ts', 'src/channels/voice/sip.ts'],
      ['src/channels/channel.ts', 'src/channels/voice/sip.ts'],
      ['src/channels/voice/delivery.ts', 'src/engine/record/record.ts'],
      ['src/runtime/semaphore.ts', 'src/store/postgres.ts'],
      ['src/domain/text/phone.ts', 'src/store/postgres.ts'],
      ['src/domain/text/phone.ts', 'src/app/config.ts'],
      ['simulator/sms/smsc.ts', 'src/channels/provider.ts'],
      ['simulator/sms/smsc.ts', 'src/runtime/semaphore.ts'],
      ['src/app/process/supervisor.ts', 'simulator/simulator.ts'],
      ['src/engine/accept/accept.ts', 'simulator/sms/smsc.ts'],
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
      if (roomOf(path) === 'top') expect(path).toBe('src/main.ts')
      else expect([...FLOORS.flat(), 'simulator', 'client'], path).toContain(roomOf(path))
    }
  })

  test('go down only, and to files that exist', () => {
    const objections: string[] = []
    for (const from of sources) {
      for (const { path: to } of importsOf(from)) {
        if (to === null) continue
        if (!sources.includes(to)) objections.push(`${from} imports ${to}, which does not exist`)
        const reason = objection(from, to)
        if (reason !== null) objections.push(`${from} imports ${to}: ${reason}`)
      }
    }
    expect(objections).toEqual([])
  })

  test('the console’s pages import types of its API from the gateway, and nothing else', () => {
    const pages = listFiles('console').filter(path => /\.tsx?$/.test(path))
    expect(pages.length).toBeGreaterThan(20)
    for (const path of pages) {
      for (const { path: to, typesOnly } of importsOf(path)) {
        if (to?.startsWith('src/'))
          expect([typesOnly, /^src\/http\/console\/([\w-]+\/)?[\w-]+-schema\.ts$/.test(to)], `${path} → ${to}`).toEqual([
            true,
            true,
          ])
      }
    }
  })

  test('make no circles, but for types and for what is loaded on demand', () => {
    const circles: string[] = []
    const done = new Set<string>()
    const visit = (path: string, trail: string[]): void => {
      if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      if (trail.includes(path) || done.has(path)) return
      for (const { path: next, typesOnly, dynamic } of importsOf(path)) {
        if (next !== null && !typesOnly && !dynamic) visit(next, [...trail, path])
      }
      done.add(path)
    }
    for (const path of sources) visit(path, [])
    expect(circles).toEqual([])
  })

  test('a worker does not load the HTTP server', () => {
    const loaded = new Set<string>()
    const load = (path: string): void => {
      if (loaded.has(path)) return
      loaded.add(path)
      for (const { path: next, typesOnly, dynamic } of importsOf(path)) if (next !== null && !typesOnly && !dynamic) load(next)
    }
    load('src/app/worker/worker.ts')
    expect(loaded.size).toBeGreaterThan(100)
    const servers = [...loaded].filter(path => importsOf(path).some(({ name, typesOnly }) => name === 'fastify' && !typesOnly))
    expect([servers, loaded.has('src/http/server.ts')]).toEqual([[], false])
  })

  test('domain does no input or output: of Node it uses what computes', () => {
    const pure = ['node:crypto', 'node:url', 'node:util', 'node:buffer', 'node:assert']
    for (const path of sources.filter(path => roomOf(path) === 'domain')) {
      for (const { name } of importsOf(path)) if (name.startsWith('node:')) expect(pure, path).toContain(name)
    }
  })

  /** The commands that channels add; their contract names the type. */
  const isCommand = (path: string): boolean => /^src\/channels\/(channel|.*\/command)\.ts$/.test(path)

  test('what speaks HTTP or SQL is imported where that is spoken', () => {
    const homes: Record<string, (path: string) => boolean> = {
      fastify: path => ['http', 'simulator'].includes(roomOf(path)) || path === 'src/app/api/api.ts',
      pg: path => roomOf(path) === 'store',
      commander: path => roomOf(path) === 'cli' || path === 'simulator/main.ts' || isCommand(path),
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

  /** A channel's own tables are read and written in files of its folder. */
  const writesSql = (path: string): boolean =>
    roomOf(path) === 'store' || /^src\/channels\/\w+\/(.*\/)?[\w-]*store\.ts$/.test(path)

  test('SQL is written in store/ and in the files of channels for their own tables', () => {
    expect("run(db, 'select 1')").toMatch(SQL)
    expect('run(db, `\n  insert into x values (1)`)').toMatch(SQL)
    expect("query('commit')").toMatch(SQL)
    expect("pick(['commit', 'hash']); log.info('updated the delivery, set and selected')").not.toMatch(SQL)
    expect(sources.filter(path => !writesSql(path)).filter(path => SQL.test(code(path)))).toEqual([])
    expect(sources.filter(writesSql).filter(path => SQL.test(code(path))).length).toBeGreaterThan(5)
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

  test('domain, engine, store, evidence and runtime know refusals, not status codes', () => {
    expect('if (error.status === 404)').toMatch(STATUS)
    expect('const x = { status: 503 }').toMatch(STATUS)
    const inner = sources.filter(path => ['app', 'domain', 'engine', 'store', 'evidence', 'runtime'].includes(roomOf(path)))
    expect(inner.filter(path => STATUS.test(code(path)))).toEqual([])
  })

  test('the environment is read by app/config.ts only; others hand it on whole, or give a child its PATH', () => {
    for (const path of sources.filter(path => path !== 'src/app/config.ts')) {
      for (const [use] of code(path).matchAll(/\bprocess\.env\s*(\.\s*\w+|\[[^\]]*\])/g)) {
        expect(use, path).toBe('process.env.PATH')
      }
    }
  })
})

describe('names', () => {
  const all = listFiles().filter(path => /\.tsx?$/.test(path))

  test('files are lower-case words joined by hyphens', () => {
    for (const path of all)
      expect(path.split('/').at(-1)).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*(\.long)?(\.test|\.config|\.d)?\.tsx?$/)
  })

  test('no file or folder is a drawer for anything: utils, helpers, manager, service, common, index', () => {
    // VitePress looks for its theme under this name.
    for (const path of all.filter(path => path !== 'docs/.vitepress/theme/index.ts')) {
      for (const word of path.split(/[/.-]/)) {
        expect(
          ['util', 'utils', 'helper', 'helpers', 'manager', 'managers', 'service', 'services', 'common', 'misc', 'index'],
          path,
        ).not.toContain(word)
      }
    }
  })

  test('no file passes on what others export, but for the one that a package is known by', () => {
    for (const path of sources.filter(path => path !== 'client/client.ts'))
      expect(code(path), path).not.toMatch(/\bexport\s+(type\s+)?(\*|\{[^}]*\})\s*(as\s+\w+\s*)?from\b/)
  })
})
