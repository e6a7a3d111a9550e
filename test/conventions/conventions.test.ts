import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { Refusal, type RefusalCode } from '../../src/domain/errors.js'
import { databaseForTest } from '../support/database/database.js'
import { gatewayForTest } from '../support/gateway/gateway.js'
import { rawRequest } from '../support/raw-http.js'
import { listFiles, ROOT, readMigrations, readSource } from '../support/sources.js'

describe('routes', () => {
  /** Below these, everything asks for a token. */
  const guarded = /^\/(gw|regua-notificacao)(\/|$)/
  /** What anyone may read, or what asks for a secret of its own. A route that is neither guarded nor listed here needs a decision. */
  const open = [
    '/',
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/docs',
    '/o/:code',
    '/n/:code',
    '/s',
    '/verificar',
    '/s/:code',
    '/r',
    '/comprovante/carta/:code',
    '/gravacao/:code',
    '/callbacks',
    // Its API asks for a session: test/security/console.test.ts walks every route of it.
    '/console',
  ]

  interface Route {
    method: string
    path: string
  }

  /** Reads Fastify's drawing of its routes: one line a node, four characters a level. */
  function readRoutes(drawing: string): Route[] {
    const trail: string[] = []
    return drawing
      .split('\n')
      .filter(line => line.trim() !== '')
      .flatMap(line => {
        const [, branch, part, methods] = /^([│├└─\s]*)(.*?)(?: \(([A-Z, ]+)\))?$/.exec(line)!
        const level = branch!.length / 4
        trail.splice(level - 1, trail.length, part!)
        const path = trail.join('')
        return methods === undefined ? [] : methods.split(', ').map(method => ({ method, path }))
      })
  }

  test('the reader of routes puts nested ones together', () => {
    const drawing = [
      '├── /healthz (GET, HEAD)',
      '├── /gw/email (POST)',
      '│   ├── /laudo/:id (GET)',
      '│   └── /:id (GET, HEAD)',
      '└── /regua-notificacao/finalizar/:id (GET)',
      '',
    ].join('\n')
    expect(readRoutes(drawing).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /healthz',
      'HEAD /healthz',
      'POST /gw/email',
      'GET /gw/email/laudo/:id',
      'GET /gw/email/:id',
      'HEAD /gw/email/:id',
      'GET /regua-notificacao/finalizar/:id',
    ])
  })

  test('5.1 every route below /gw and /regua-notificacao is 401 without a token, every other one is known to be open', async () => {
    const database = await databaseForTest()
    const gateway = await gatewayForTest(database.pool)
    const routes = readRoutes(gateway.app.printRoutes({ commonPrefix: false }))
    expect(routes).toContainEqual({ method: 'POST', path: '/gw/email' })
    expect(routes).toContainEqual({ method: 'GET', path: '/healthz' })
    for (const { method, path } of routes) {
      const name = `${method} ${path}`
      if (guarded.test(path)) {
        const concrete = path.replace(/:\w+(\([^)]*\))?/g, () => randomUUID()).replaceAll('*', 'x')
        const { status, body } = await rawRequest(gateway.url, [`${method} ${concrete} HTTP/1.1`, 'Content-Length: 0'])
        expect(status, name).toBe(401)
        if (method !== 'HEAD') expect(body, name).toEqual({ statusCode: 401, message: 'Unauthorized', error: 'Unauthorized' })
      } else {
        expect(
          open.some(known => path === known || path.startsWith(`${known}/`) || path === `${known}*`),
          `${name} is open to anyone`,
        ).toBe(true)
      }
    }
  })
})

describe('settings', () => {
  /** Every name that reading the configuration asks for. */
  function settingsRead(): string[] {
    const names = new Set<string>()
    const nobody = new Proxy({}, { get: (_, name) => void names.add(String(name)) }) as NodeJS.ProcessEnv
    readConfig(nobody)
    return [...names].sort()
  }

  const example = existsSync(join(ROOT, '.env.example')) ? readSource('.env.example') : ''
  const listed = [...example.matchAll(/^#? ?([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => ({
    name: name!,
    value: value!,
  }))

  test('.env.example lists exactly the settings that are read, each once', () => {
    expect(listed.map(({ name }) => name).sort()).toEqual(settingsRead())
  })

  test('every value in .env.example is one that is accepted, and no database is reached without TLS', () => {
    expect(listed.length).toBeGreaterThan(0)
    const DATABASE_URL = listed.find(({ name }) => name === 'DATABASE_URL')!.value
    for (const { name, value } of listed) expect(() => readConfig({ DATABASE_URL, [name]: value }), name).not.toThrow()
    const databases = listed.filter(({ name }) => /^DATABASE_.*URL$/.test(name))
    expect(readConfig(Object.fromEntries(databases.map(({ name, value }) => [name, value]))).warnings).toEqual([])
  })

  test('every group of settings in .env.example is explained before it', () => {
    for (const block of example.trim().split(/\n\n+/)) expect(block).toMatch(/^# [^\n=]*\p{L}[^\n]*[.:]/u)
  })

  test('every setting is named in full: bad values of all of them are reported at once', () => {
    const message = (() => {
      try {
        readConfig({ PORT: 'x', DATABASE_URL: 'x', TRUSTED_PROXIES: 'x', LOG_LEVEL: 'x', SIMULATOR: 'x', MAX_BODY_MIB: '0' })
        return ''
      } catch (error) {
        return (error as Error).message
      }
    })()
    for (const name of ['PORT', 'DATABASE_URL', 'TRUSTED_PROXIES', 'LOG_LEVEL', 'SIMULATOR', 'MAX_BODY_MIB']) {
      expect(message).toContain(name)
    }
  })
})

describe('refusals', () => {
  /** As section 7 of the contract has them, word for word. */
  const fixed = ['Unauthorized', 'Too Many Requests', 'Email sem status!', 'Registro não encontrado']

  const table = /const messages = \{([\s\S]*?)\n\} as const/.exec(readSource('src/domain/errors.ts'))![1]!
  const codes = [...table.matchAll(/^ {4}(\w+):/gm)].map(([, code]) => code as RefusalCode)

  test('every message is a sentence that ends, or one that the contract fixes', () => {
    expect(codes.length).toBeGreaterThan(30)
    for (const code of codes) {
      const { message } = new Refusal(code, ['um', 'dois'])
      expect(message, code).not.toMatch(/undefined|\[object|\n/)
      if (!fixed.includes(message)) expect(message, code).toMatch(/^[\p{Lu}"].*[^\s.]\.$/u)
    }
  })

  test('no two refusals read the same', () => {
    const messages = codes.map(code => new Refusal(code, ['um', 'dois']).message)
    expect(messages.filter((message, index) => messages.indexOf(message) !== index)).toEqual([])
  })
})

describe('files', () => {
  const texts = listFiles()
    .filter(path => !/\.(png|jpe?g|gif|ico|woff2?|pdf|gz|zip)$/.test(path))
    .map(path => ({ path, text: readSource(path) }))

  const withMatch = (pattern: RegExp): string[] =>
    texts.flatMap(({ path, text }) => {
      const found = pattern.exec(text)
      return found === null ? [] : [`${path}: ${found[0].slice(0, 60)}`]
    })

  test('nothing is left for later in a comment', () => {
    const marks = ['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK']
    expect(withMatch(new RegExp(`\\b(${marks.join('|')})\\b`))).toEqual([])
  })

  test('no secret is written down: private keys, tokens, credentials of known providers', () => {
    const secrets = [
      /-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{16}/,
      /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/,
      /\bwhsec_[A-Za-z0-9+/]{24,}/,
      /\b(AKIA|ASIA)[0-9A-Z]{16}\b/,
      /\b(ghp|gho|ghs|github_pat)_\w{20,}/,
      /\bsk_live_\w{10,}/,
      /\bxox[abps]-[\w-]{10,}/,
      /\bAC[0-9a-f]{32}\b/,
      /CARTEIRO_MASTER_KEY\s*[=:]\s*['"]?[0-9a-f]{64}/i,
    ]
    expect(secrets.flatMap(withMatch)).toEqual([])
  })

  test('no path of one person’s machine is written down', () => {
    expect(withMatch(/(^|[\s'"`(=:])(\/home\/\w+|\/Users\/\w+|\/root\/|[A-Z]:\\Users\\)/)).toEqual([])
    // Where the project happens to lie now. Places where it may well be installed are named in the documents.
    const here = ROOT.replace(/[/\\]$/, '')
    if (/^\/[^/]+\/./.test(here) && !/^\/(var|opt|srv|usr)\//.test(here)) {
      expect(texts.filter(({ text }) => text.includes(`${here}/`) || text.includes(`${here}'`)).map(({ path }) => path)).toEqual(
        [],
      )
    }
  })

  test('text files end with one line break and have no tabs, no trailing blanks, no carriage returns', () => {
    for (const { path, text } of texts) {
      if (text === '') continue
      expect(text.endsWith('\n') && !text.endsWith('\n\n'), `${path} ends with one line break`).toBe(true)
      expect(text, path).not.toMatch(/\r/)
      if (!path.endsWith('.md')) expect(/[ \t]$/m.test(text), `${path} has trailing blanks`).toBe(false)
    }
  })

  test('the documents that people look for are there', () => {
    for (const path of [
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      '.env.example',
      'docs/decisions.md',
      'docs/glossary.md',
    ]) {
      expect(existsSync(join(ROOT, path)), path).toBe(true)
    }
  })

  test('the files that docs/architecture.md names exist', () => {
    const named = [...readSource('docs/architecture.md').matchAll(/`((?:[a-z][\w-]*\/)+[\w.-]+\.(?:ts|sql|md))`/g)].map(
      ([, path]) => path!,
    )
    expect(named.length).toBeGreaterThan(30)
    const isThere = (path: string): boolean => ['', 'src', 'docs'].some(folder => existsSync(join(ROOT, folder, path)))
    expect(named.filter(path => !isThere(path))).toEqual([])
  })

  test('docs/architecture.md says what every table holds', () => {
    const tables = [...readMigrations().matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, name]) => name!)
    const rows = readSource('docs/architecture.md')
      .split('\n')
      .filter(line => line.startsWith('| `'))
    expect(tables.length).toBeGreaterThan(30)
    expect(tables.filter(table => !rows.some(row => row.includes(`\`${table}\``)))).toEqual([])
  })
})
