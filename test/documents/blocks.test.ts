import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { Refusal, type RefusalCode } from '../../src/domain/errors.js'
import { type Block, documents, isMirror, nameOf, readBlocks } from '../support/documents.js'
import { ROOT, readSource } from '../support/sources.js'

/**
 * What the examples of the documents are, and how each is checked: here by itself, in examples.long.test.ts against a gateway. The
 * words after the language of a block say what it is:
 *
 * | block | how it is checked |
 * |---|---|
 * | sh | run in a shell; must succeed |
 * | json after sh | has the form of what the commands before it answered, and its words |
 * | json POST /gw/email | sent, and accepted |
 * | json event | has the form of a webhook that arrived |
 * | json refusal | is a refusal of the table in the code |
 * | json FILE, csv FILE | is a file that the commands after it read |
 * | dotenv | accepted as a configuration |
 * | ts, js | compiled and run |
 * | anything, not-run | listed below with its reason |
 */
const NOT_RUN: Readonly<Record<string, string>> = {
  'npm install': 'the project itself: the tests run in it',
  'npm start': 'the project itself: test/faults/start.test.ts starts it',
  'npm run check': 'commands of engineers: below, each must be a script of package.json',
  'npm run bench': 'minutes of measuring: test/conventions/commands.test.ts holds the names',
  'npx tsc && npx vitest': 'the tests themselves',
  'npx carteiro start --role': 'runs until it is ended: test/faults starts every role',
  'npx carteiro migrate': 'a database of two roles: test/store/application-role.test.ts',
  'db1.example.com:5432,db2': 'servers that are not here: test/store/servers.test.ts',
  'npx carteiro backup': 'the machine of before and the machine after: test/cli/backup.long.test.ts',
  'npx carteiro files move': 'a place outside that is set first: test/cli/files.test.ts',
  'npx carteiro restored release': 'needs a restored copy: test/cli/backup.long.test.ts',
  'mv data/memoria': 'an old machine: test/app/database-watch.test.ts copies what a node remembers',
  'npx carteiro hold --all': 'would stop the examples that follow: test/engine/deliver/holds.test.ts',
  'npx carteiro person erase': 'what is still under way is not erased: test/cli/person.test.ts',
  'npx carteiro legal-hold': 'needs the id of a notification: test/cli/person.test.ts',
  'npx carteiro month drop': 'needs a month that is long over: test/cli/month.test.ts',
  'npx carteiro simulate': 'runs until it is ended: test/simulator/simulate.test.ts',
  'npx carteiro listen': 'runs until it is ended: test/cli/webhook.test.ts',
  'npx carteiro audit --checkpoint': 'needs checkpoints of days before: test/evidence/log-audit.test.ts',
  'npx carteiro operator end-sessions': 'needs somebody who signed in: test/cli/operator.test.ts',
  'npx carteiro queue retry': 'needs deliveries that failed: test/cli/queue.test.ts',
  'npx carteiro dkim activate': 'asks the public DNS: test/channels/email tests it with a DNS of its own',
  'carteiro completion': 'writes into the home folder: test/cli/remote.test.ts runs it',
  'tar -xzf carteiro-': 'a package that is made first: test/deploy/package.long.test.ts does the same',
  'systemctl daemon-reload': 'a service of the system: test/deploy/programs.test.ts verifies the units',
  'systemctl enable --now': 'a service of the system: test/deploy/programs.test.ts verifies the units and runs its command',
  'sysctl --system': 'changes the machine, and asks a server of one’s own',
  'docker compose up': 'needs an engine: test/deploy/deploy.test.ts holds the files',
  'docker compose run': 'needs an engine: test/deploy/deploy.test.ts reads its commands',
  'kubectl -n carteiro replace': 'needs a cluster: test/deploy/deploy.test.ts reads its manifest',
  'kubectl apply': 'needs a cluster: test/deploy/programs.test.ts builds the manifests',
  'npm run sbom': 'writes into the project: test/deploy/package.long.test.ts runs it',
  'apt install': 'installs a program',
  'openssl ts': 'needs a time-stamp of an authority: test/evidence/time-stamping.test.ts',
  'head -n 4 checkpoint.txt': 'needs a time-stamp of an authority: test/evidence/time-stamping.test.ts',
  'create role': 'a server of one’s own: test/store/application-role.test.ts',
  'update event': 'after a restore into another server, as owner of the tables',
  '"documento": {"base64"': 'what a print service gets: test/channels/letter',
  '"situacao": "postada"': 'what a print service reports: test/channels/letter',
  'from standardwebhooks import': 'needs a package of Python; test/webhooks checks the signature with the one of Node',
  hash_hmac: 'needs PHP; test/webhooks checks the signature',
}
/** What is shown, not done. */
const SHOWN = new Set(['', 'text', 'mermaid', 'ini'])

const all = documents()
const blocks = all.flatMap(readBlocks)

test('there are many, and each is of a kind that is checked', () => {
  expect(blocks.length).toBeGreaterThan(80)
  const checked = ({ lang, words: [word = ''] }: Block): boolean =>
    SHOWN.has(lang) ||
    word === 'not-run' ||
    (['sh', 'dotenv', 'ts', 'js'].includes(lang) && word === '') ||
    (lang === 'json' && /^(|POST|event|refusal|[\w-]+\.json)$/.test(word)) ||
    (lang === 'csv' && word.endsWith('.csv'))
  expect(blocks.filter(block => !checked(block)).map(nameOf)).toEqual([])
})

test('what is not run says why, and every reason is needed', () => {
  const notRun = blocks.filter(({ words }) => words.includes('not-run'))
  const reasons = Object.keys(NOT_RUN)
  expect(notRun.filter(({ text }) => !reasons.some(reason => text.includes(reason))).map(nameOf)).toEqual([])
  const named = Object.values(NOT_RUN).flatMap(reason => /test\/[\w./-]+/.exec(reason) ?? [])
  expect(named.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
  expect(reasons.filter(reason => !notRun.some(({ text }) => text.includes(reason)))).toEqual([])
})

test('what is only shown holds no command, no setting and no request', () => {
  const example = /^\s*((curl|npx|npm|carteiro) |[A-Z][A-Z_]+=\S|\{"nameTo")/m
  expect(blocks.filter(({ lang, text }) => SHOWN.has(lang) && example.test(text)).map(nameOf)).toEqual([])
})

test('the examples of an English document are among those of the Portuguese ones', () => {
  const mirrored = blocks.filter(({ path }) => isMirror(path))
  expect(mirrored.length).toBeGreaterThan(5)
  const run = new Set(blocks.filter(({ path }) => !isMirror(path)).map(({ text }) => text))
  expect(mirrored.filter(({ text }) => !run.has(text)).map(nameOf)).toEqual([])
})

test('every script of npm that a document names is one', () => {
  const { scripts } = JSON.parse(readSource('package.json')) as { scripts: Record<string, string> }
  const named = all.flatMap(path => [...readSource(path).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => `${path}: ${name}`))
  expect(named.filter(name => scripts[name.split(': ')[1]!] === undefined)).toEqual([])
})

test('every example of settings is accepted', () => {
  const settings = blocks.filter(({ lang }) => lang === 'dotenv')
  expect(settings.length).toBeGreaterThan(5)
  for (const block of settings) expect(() => readConfig(parseEnv(block.text) as NodeJS.ProcessEnv), nameOf(block)).not.toThrow()
})

test('every refusal is one of the table', () => {
  const table = /const messages = \{([\s\S]*?)\n\} as const/.exec(readSource('src/domain/errors.ts'))![1]!
  const codes = [...table.matchAll(/^ {4}(\w+):/gm)].map(([, code]) => code as RefusalCode)
  const patterns = codes.map(code => {
    const parts = new Refusal(code, ['\0', '\0', '\0']).message
      .split('\0')
      .map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    return new RegExp(`^${parts.join('.+')}$`)
  })
  const refusals = blocks.filter(({ words }) => words[0] === 'refusal')
  expect(refusals.length).toBeGreaterThan(0)
  for (const block of refusals) {
    const { message, ...rest } = JSON.parse(block.text) as { message: string }
    expect(Object.keys(rest), nameOf(block)).toEqual(['statusCode', 'error'])
    expect(
      patterns.some(pattern => pattern.test(message)),
      nameOf(block),
    ).toBe(true)
  }
})

interface Folder {
  item?: Folder[]
  request?: { method: string; url: { path: string[] } }
}

test('every operation that a document names is one of the interface', () => {
  const requestsOf = ({ item = [], request }: Folder): string[] => [
    ...(request === undefined ? [] : [`${request.method} /${request.url.path.join('/')}`]),
    ...item.flatMap(requestsOf),
  ]
  const known = new Set(
    requestsOf(JSON.parse(readSource('docs/carteiro.postman_collection.json'))).map(name => name.replace(/\{\{\w+\}\}/g, '{}')),
  )
  const named = all.flatMap(path =>
    [...readSource(path).matchAll(/\b(GET|POST|PUT|PATCH|DELETE) \/(gw|regua-notificacao)[\w/{}*-]*/g)].map(([name]) => ({
      path,
      name,
    })),
  )
  expect(named.length).toBeGreaterThan(50)
  const shorten = (name: string): string =>
    name
      .replace('{canal}', 'email')
      .replace(/\{\w+\}|\*\w+\*/g, '{}')
      .replace(/[/*]+$/, '')
  const isKnown = ({ name }: { name: string }): boolean => known.has(shorten(name))
  expect(named.filter(one => !isKnown(one)).map(({ path, name }) => `${path}: ${name}`)).toEqual([])
})
