import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { MAX_CALL_SECONDS } from '../../src/channels/voice/baresip.js'
import { engineTiming } from '../../src/engine/timing.js'
import { ARRIVAL_MS } from '../../src/http/arrivals.js'
import { LONGEST_TURN_WAIT_MS } from '../../src/http/uploads.js'
import { LONGEST_STOP_MS } from '../../src/store/embedded/postmaster.js'
import { listFiles, ROOT, readSource } from '../support/sources.js'
import { findCommandProblem } from '../support/told-commands.js'
import { type Container, compose, dockerfile, type Manifest, manifests, type PodSpec, readEnvFile, units } from './files.js'
import { readYaml } from './yaml.js'

/** What deploy/ says of the program is true of the program. */
const ALIVE = 'WORKER_ALIVE_FILE'
const CARTEIRO_SERVICES = ['migrate', 'api', 'worker'] as const
const lastOf = (instruction: string): string => dockerfile().findLast(line => line.instruction === instruction)!.value
const podsOf = (): { name: string; pod: PodSpec; labels: Record<string, string>; claims: string[] }[] =>
  manifests()
    .filter(({ spec }) => spec?.template !== undefined)
    .map(({ metadata, spec }) => ({
      name: metadata.name,
      pod: spec!.template!.spec,
      labels: spec!.template!.metadata.labels,
      claims: (spec!.volumeClaimTemplates ?? []).map(claim => claim.metadata.name),
    }))
const containersOf = (): Container[] => podsOf().flatMap(({ pod }) => pod.containers)
const named = (kind: string, name: string): Manifest =>
  manifests().find(manifest => manifest.kind === kind && manifest.metadata.name === name)!
/** An example's values that must be exchanged, exchanged. */
const exchanged = (env: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, value === 'TROQUE' ? '07'.repeat(32) : value]))

interface Rule {
  matches?: { path: { type: string; value: string } }[]
  backendRefs?: { name: string; port: number }[]
  timeouts?: { request: string }
}

/** The specification of an HTTPRoute. */
interface Route {
  parentRefs: { name: string; sectionName: string }[]
  hostnames: string[]
  rules: Rule[]
}

const routes = (): Route[] =>
  manifests()
    .filter(({ kind }) => kind === 'HTTPRoute')
    .map(({ spec }) => spec as unknown as Route)

/** The names of the settings that the configuration reads. */
function settingsRead(): Set<string> {
  const names = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void names.add(String(name)) }) as NodeJS.ProcessEnv)
  return names
}

test('every YAML file is well formed', () => {
  const files = listFiles('deploy').filter(path => /\.ya?ml$/.test(path))
  expect(files.length).toBeGreaterThan(6)
  for (const path of files) expect(() => readYaml(readSource(path)), path).not.toThrow()
})

test('every setting that deploy/ gives exists, with a value that is accepted and warned of by nobody', () => {
  const unitEnvironment = units().map(({ path, valuesOf }) => {
    const words = valuesOf('Environment').flatMap(value => value.split(' '))
    return [path, readEnvFile(words.join('\n'))] as const
  })
  const given: (readonly [string, Record<string, string>])[] = [
    ['Dockerfile', readEnvFile(lastOf('ENV').replaceAll(' ', '\n'))],
    ['compose/carteiro.env.example', readEnvFile(readSource('deploy/compose/carteiro.env.example'))],
    ...unitEnvironment,
    ...manifests()
      .filter(({ kind }) => kind === 'ConfigMap' || kind === 'Secret')
      .map(({ kind, metadata, data, stringData }) => [`${kind} ${metadata.name}`, { ...data, ...stringData }] as const),
  ]
  const known = settingsRead()
  // Of Node.js, for its libraries.
  known.add('NODE_ENV')
  for (const [place, env] of given) {
    expect(Object.keys(env).length, place).toBeGreaterThan(0)
    expect(
      Object.keys(env).filter(name => !known.has(name)),
      place,
    ).toEqual([])
    // The owner's secret goes only where the program's goes too.
    const beside = 'DATABASE_OWNER_URL' in env ? named('Secret', 'carteiro').stringData : {}
    expect(readConfig(exchanged({ ...beside, ...env })).warnings, place).toEqual([])
  }
})

test('the examples of a master key and of a token are refused until they are exchanged', () => {
  expect(() => readConfig(named('Secret', 'carteiro').stringData!)).toThrow(/CARTEIRO_MASTER_KEY[\s\S]*METRICS_TOKEN/)
})

test('every command line exists', async () => {
  const entrypoint = JSON.parse(lastOf('ENTRYPOINT')) as string[]
  expect(entrypoint).toEqual(['node', '/app/bin/carteiro'])
  expect(existsSync(join(ROOT, 'bin/carteiro'))).toBe(true)
  const services = CARTEIRO_SERVICES.map(name => compose().services[name]!)
  for (const service of services) expect(service.entrypoint!.at(-1)).toBe('/app/bin/carteiro')
  const lines = [
    JSON.parse(lastOf('CMD')) as string[],
    ...services.map(({ command }) => command!),
    ...containersOf().map(({ args }) => args!),
    ...units()
      .flatMap(({ valuesOf }) => valuesOf('ExecStart'))
      .flatMap(line => ['api', 'worker'].map(role => line.replace('%i', role).split(' ').slice(1))),
  ]
  expect(lines.length).toBeGreaterThan(9)
  for (const line of lines) expect(await findCommandProblem(line), line.join(' ')).toBeNull()
  expect(await findCommandProblem(['start', '--role', 'nobody'])).not.toBeNull()
})

test('every image and package that is named has the version of this one', () => {
  const { version } = JSON.parse(readSource('package.json')) as { version: string }
  const files = ['docs/instalacao.md', ...listFiles('deploy/kubernetes'), 'deploy/compose/compose.yaml']
  const named = files.flatMap(path => [...readSource(path).matchAll(/(?:carteiro[:-]|newTag: )(\d+\.\d+\.\d+)/g)])
  expect(named.length).toBeGreaterThan(6)
  expect(new Set(named.map(([, found]) => found))).toEqual(new Set([version]))
  for (const name of CARTEIRO_SERVICES) expect(compose().services[name]!.image, name).toBe(`carteiro:${version}`)
})

describe('the image', () => {
  test('copies files that exist, and none that .dockerignore leaves out', () => {
    const ignored = readSource('.dockerignore').split('\n')
    const copied = dockerfile()
      .filter(({ instruction, value }) => instruction === 'COPY' && !value.startsWith('--from'))
      .flatMap(({ value }) => value.split(' ').slice(0, -1))
    expect(copied).toContain('src')
    for (const path of copied) {
      expect(existsSync(join(ROOT, path)), path).toBe(true)
      expect(ignored).toContain(`!${path}`)
    }
    expect(ignored).toContain('*')
    expect(ignored.filter(line => line.startsWith('!')).sort()).toEqual(copied.map(path => `!${path}`).sort())
  })

  test('holds everything that the package holds', () => {
    const { files } = JSON.parse(readSource('package.json')) as { files: string[] }
    const copied = dockerfile()
      .filter(({ instruction }) => instruction === 'COPY')
      .flatMap(({ value }) => value.split(' '))
    const needed = files.filter(path => !/^(!|dist|npm-shrinkwrap)/.test(path)).map(path => path.split('/')[0]!)
    for (const path of needed) expect(copied, path).toContain(path)
  })

  test('runs as a user that is not root, without development dependencies and without scripts of packages', () => {
    expect(lastOf('USER')).toBe('10001:10001')
    const runs = dockerfile().filter(({ instruction }) => instruction === 'RUN')
    expect(runs.map(({ value }) => value).join('\n')).toContain('npm install --omit=dev --ignore-scripts')
    for (const { value } of runs.filter(({ value }) => value.includes('npm install'))) expect(value).toContain('--ignore-scripts')
    expect(dockerfile().filter(({ instruction }) => instruction === 'FROM')).toHaveLength(2)
  })

  test('asks a path of the API for its health', () => {
    expect(lastOf('HEALTHCHECK')).toMatch(/\/healthz`/)
    expect(lastOf('EXPOSE')).toBe('8080')
    expect(lastOf('ENV')).toContain('PORT=8080')
  })
})

/** Probes of a worker: they are run here as the orchestrator does. */
test.each(['Kubernetes', 'Compose'])('in %s, a worker that hangs is told by the age of its sign of life', where => {
  const container = podsOf().find(({ name }) => name === 'carteiro-worker')!.pod.containers[0]!
  const service = compose().services.worker!
  const [command, file] =
    where === 'Kubernetes'
      ? [
          (container.livenessProbe as { exec: { command: string[] } }).exec.command,
          container.env!.find(({ name }) => name === ALIVE)!.value,
        ]
      : [service.healthcheck!.test!.slice(1), service.environment![ALIVE]!]
  // On a disk that is always there, and of the pod or service alone.
  expect(file).toMatch(/^\/tmp\//)
  const folder = mkdtempSync(join(tmpdir(), 'carteiro-alive-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const sign = join(folder, 'worker.alive')
  const probe = () => spawnSync(process.execPath, command.slice(1), { env: { ...process.env, [ALIVE]: sign } }).status
  expect(command[0]).toBe('node')
  expect(probe()).not.toBe(0)
  writeFileSync(sign, '')
  expect(probe()).toBe(0)
  const longAgo = new Date(Date.now() - 10 * 60_000)
  utimesSync(sign, longAgo, longAgo)
  expect(probe()).toBe(1)
})

describe('the time to stop', () => {
  /** The longest call, and what a worker waits for a database that is away. */
  const worker = MAX_CALL_SECONDS + engineTiming.unavailableMs / 1_000
  /** What the API waits for requests that are still arriving. */
  const api = ARRIVAL_MS / 1_000

  test.each(['carteiro-api', 'carteiro-worker'])('of %s in Kubernetes fits', name => {
    const { pod } = podsOf().find(found => found.name === name)!
    const preStop = Number(pod.containers[0]!.lifecycle?.preStop.exec.command[1] ?? 0)
    expect(pod.terminationGracePeriodSeconds! - preStop).toBeGreaterThanOrEqual(name.endsWith('api') ? api : worker)
  })

  test('of the services and units fits', () => {
    const { services } = compose()
    expect(Number.parseInt(services.api!.stop_grace_period!, 10)).toBeGreaterThanOrEqual(api)
    expect(Number.parseInt(services.worker!.stop_grace_period!, 10)).toBeGreaterThanOrEqual(worker)
    for (const { path, valuesOf } of units().filter(({ valuesOf }) => !valuesOf('Type').includes('oneshot'))) {
      // The supervisor stops them one after the other.
      const all = path.endsWith('carteiro.service') ? worker + api + LONGEST_STOP_MS / 1_000 : worker
      expect(Number(valuesOf('TimeoutStopSec')[0]), path).toBeGreaterThanOrEqual(all)
      // The others of the unit, such as the program that speaks in calls, are ended by their parent when they are done.
      expect(valuesOf('KillMode'), path).toEqual(['mixed'])
    }
  })
})

test('a proxy waits for longer than a file may wait for its turn', () => {
  const limits = ['nginx.conf', 'Caddyfile'].flatMap(name =>
    [
      ...readSource(`deploy/proxy/${name}`).matchAll(
        /^\s*(?:proxy_read_timeout|proxy_send_timeout|response_header_timeout) (\d+)s/gm,
      ),
    ].map(([, seconds]) => Number(seconds)),
  )
  expect(limits).toHaveLength(3)
  for (const seconds of limits) expect(seconds).toBeGreaterThan(LONGEST_TURN_WAIT_MS / 1_000)
})

describe('compose.yaml', () => {
  test('names secrets, volumes and networks that exist, and starts in order', () => {
    const { services, secrets, volumes, networks } = compose()
    for (const [name, service] of Object.entries(services)) {
      for (const secret of service.secrets ?? []) expect(Object.keys(secrets), `${name}: ${secret}`).toContain(secret)
      for (const network of service.networks ?? []) expect(Object.keys(networks), `${name}: ${network}`).toContain(network)
      for (const volume of service.volumes ?? []) {
        const source = volume.split(':')[0]!
        if (source.startsWith('.')) expect(existsSync(join(ROOT, 'deploy/compose', source)), source).toBe(true)
        else expect(Object.keys(volumes), source).toContain(source)
      }
      for (const file of (service.entrypoint ?? []).filter(word => word.startsWith('--env-file=')))
        expect(service.secrets, `${name}: ${file}`).toContain(file.replace('--env-file=/run/secrets/', ''))
    }
    expect(services.migrate!.depends_on).toEqual({ db: { condition: 'service_healthy' } })
    for (const name of ['api', 'worker'])
      expect(services[name]!.depends_on).toEqual({ migrate: { condition: 'service_completed_successfully' } })
  })

  test('gives the owner’s password to the migration alone, and keeps the database inside', () => {
    const { services, networks } = compose()
    for (const [name, { secrets = [] }] of Object.entries(services))
      expect(secrets.includes('owner'), name).toBe(name === 'migrate')
    expect(services.db!.ports).toBeUndefined()
    for (const network of services.db!.networks!) expect(networks[network]!.internal).toBe(true)
    expect(services.api!.ports).toEqual(['127.0.0.1:8080:8080'])
  })

  test('trusts the proxies of the network that it makes', () => {
    const env = readEnvFile(readSource('deploy/compose/carteiro.env.example'))
    expect(env.TRUSTED_PROXIES).toBe(compose().networks.outside!.ipam!.config[0]!.subnet)
  })

  test('make-secrets.sh makes the files that it names, once, with values that Node.js and the program read', () => {
    const folder = mkdtempSync(join(tmpdir(), 'carteiro-secrets-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const script = join(folder, 'make-secrets.sh')
    copyFileSync(join(ROOT, 'deploy/compose/make-secrets.sh'), script)
    execFileSync('sh', [script], { stdio: 'pipe' })
    const made = join(folder, 'secrets')
    const { mode } = statSync(made)
    expect(mode & 0o777).toBe(0o700)
    const { secrets } = compose()
    for (const { file } of Object.values(secrets)) expect(existsSync(join(folder, file)), file).toBe(true)
    const files = ['carteiro.env', 'owner.env'].map(name => `--env-file=${join(made, name)}`)
    const names = ['DATABASE_URL', 'DATABASE_OWNER_URL', 'CARTEIRO_MASTER_KEY', 'METRICS_TOKEN']
    const print = `console.log(JSON.stringify(Object.fromEntries(${JSON.stringify(names)}.map(n => [n, process.env[n]]))))`
    const env = JSON.parse(execFileSync(process.execPath, [...files, '-e', print], { env: {}, encoding: 'utf8' }))
    const { databaseUrl, databaseOwnerUrl, masterKey, metricsToken, warnings } = readConfig(env)
    expect(warnings).toEqual([])
    expect(masterKey).toHaveLength(32)
    expect(metricsToken).toHaveLength(64)
    expect(databaseUrl).toContain(readFileSync(join(made, 'app_password'), 'utf8'))
    expect(databaseOwnerUrl).toContain(readFileSync(join(made, 'owner_password'), 'utf8'))
    expect(() => execFileSync('sh', [script], { stdio: 'pipe' })).toThrow()
  })
})

/** What the documents tell people to run in the container of a service, or in the Job of a command. */
const toldInContainers = (): { place: string; words: string[] }[] => [
  ...[...readSource('docs/instalacao.md').matchAll(/^docker compose run (?:-\S+ (?:[A-Z_]+ |\S+:\S+ )?)*(\w+) (.+)$/gm)].map(
    ([, place, line]) => ({ place: place!, words: line!.split(' ') }),
  ),
  ...[...readSource('docs/instalacao.md').matchAll(/`\[([a-z].*?)\]`/g)].map(([, list]) => ({
    place: 'migrate',
    words: list!.split(', '),
  })),
]

test('a container that is told to run a command has the owner’s password, the files and the key', async () => {
  const told = toldInContainers()
  for (const name of ['backup', 'restore', 'month', 'rotate-master-key'])
    expect(
      told.map(({ words }) => words[0]),
      name,
    ).toContain(name)
  const { services } = compose()
  for (const { place, words } of told) {
    expect(await findCommandProblem(words), words.join(' ')).toBeNull()
    expect(services[place]!.secrets, place).toContain('owner')
    expect(services[place]!.volumes, place).toEqual(services.worker!.volumes)
  }
})

describe('the Kubernetes manifests', () => {
  test('are all in the kustomization, and name what exists', () => {
    const { resources } = manifests().find(({ kind }) => kind === 'Kustomization')!
    const files = listFiles('deploy/kubernetes').map(path => path.split('/').at(-1)!)
    // A person runs the command's Job when it is needed.
    expect([...resources!, 'kustomization.yaml', 'command.yaml'].sort()).toEqual(files)
    for (const { envFrom = [], name } of containersOf()) {
      for (const { configMapRef, secretRef } of envFrom) {
        if (configMapRef !== undefined) expect(named('ConfigMap', configMapRef.name), name).toBeDefined()
        if (secretRef !== undefined) expect(named('Secret', secretRef.name), name).toBeDefined()
      }
    }
    const { listeners } = named('Gateway', 'carteiro').spec as { listeners: { name: string; hostname: string }[] }
    const backends = routes().flatMap(({ rules }) => rules.flatMap(({ backendRefs = [] }) => backendRefs))
    expect(backends.length).toBeGreaterThan(0)
    for (const { name, port } of backends) {
      const ports = named('Service', name).spec!.ports as { port: number; targetPort: string }[]
      const { targetPort } = ports.find(served => served.port === port)!
      const api = podsOf().find(({ name }) => name === 'carteiro-api')!.pod.containers[0]!
      expect(api.ports).toContainEqual({ name: targetPort, containerPort: 8080 })
    }
    const { hostname } = new URL(named('ConfigMap', 'carteiro').data!.PUBLIC_URL!)
    expect(listeners.map(listener => listener.hostname)).toEqual([hostname, hostname])
    for (const { parentRefs, hostnames } of routes()) {
      expect(hostnames).toEqual([hostname])
      for (const { name, sectionName } of parentRefs) {
        expect(named('Gateway', name)).toBeDefined()
        expect(listeners.map(listener => listener.name)).toContain(sectionName)
      }
    }
  })

  test('follow the rules of a proxy: no log of requests, no /metrics, no end to a stream of events', () => {
    const { infrastructure } = named('Gateway', 'carteiro').spec as {
      infrastructure: { parametersRef: { kind: string; name: string } }
    }
    const { kind, name } = infrastructure.parametersRef
    expect(named(kind, name).spec).toMatchObject({ telemetry: { accessLog: { disable: true } } })
    // A longer prefix wins. A rule without a backend is answered by the gateway itself, with an error.
    const { rules } = named('HTTPRoute', 'carteiro').spec as unknown as Route
    const pathsOf = ({ matches = [] }: Rule) => matches.map(({ path }) => path)
    expect(rules.filter(({ backendRefs }) => backendRefs === undefined).flatMap(pathsOf)).toEqual([
      { type: 'PathPrefix', value: '/metrics' },
    ])
    const served = rules.filter(({ backendRefs }) => backendRefs !== undefined)
    expect(served.flatMap(pathsOf)).toEqual([{ type: 'PathPrefix', value: '/' }])
    expect(served.map(({ timeouts }) => timeouts?.request)).toEqual(['0s'])
  })

  test('run nothing as root, bound what a pod takes, and mount what they declare', () => {
    expect(
      podsOf()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['carteiro-api', 'carteiro-command', 'carteiro-migrate', 'carteiro-worker'])
    for (const { name, pod, claims } of podsOf()) {
      expect(pod.securityContext, name).toMatchObject({ runAsNonRoot: true, runAsUser: 10_001 })
      for (const { securityContext, resources, volumeMounts } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        expect(Object.keys(resources.requests)).toEqual(['cpu', 'memory'])
        expect(resources.limits.memory).toBeDefined()
        expect(volumeMounts.map(mount => mount.name).sort()).toEqual(
          [...pod.volumes.map(volume => volume.name), ...claims].sort(),
        )
      }
    }
  })

  test('give the owner’s password to the migration and to the Job of a command, and to no node', () => {
    for (const { name, pod } of podsOf()) {
      const secrets = pod.containers.flatMap(({ envFrom = [] }) => envFrom.map(({ secretRef }) => secretRef?.name))
      expect(secrets.includes('carteiro-owner'), name).toBe(['carteiro-migrate', 'carteiro-command'].includes(name))
    }
  })

  test('run a command with the image of the release and everything that its nodes are given', () => {
    const { version } = JSON.parse(readSource('package.json')) as { version: string }
    const [command, migrate] = ['carteiro-command', 'carteiro-migrate'].map(
      name => podsOf().find(found => found.name === name)!.pod.containers[0]!,
    )
    expect(command!.image).toBe(`registry.example.com/carteiro:${version}`)
    expect(command!.envFrom).toEqual(migrate!.envFrom)
  })

  test('give Prometheus every pod of the API, ready or not: counters of two pods must not be mixed', () => {
    const { labels, pod } = podsOf().find(({ name }) => name === 'carteiro-api')!
    const { ports, ...spec } = named('Service', 'carteiro-api-metrics').spec!
    expect(spec).toEqual({ clusterIP: 'None', publishNotReadyAddresses: true, selector: labels })
    // Without an address of its own a Service translates no port.
    const [{ name, containerPort }] = pod.containers[0]!.ports as [{ name: string; containerPort: number }]
    expect(ports).toEqual([{ name, port: containerPort, targetPort: name }])
    const { namespace } = manifests().find(({ kind }) => kind === 'Kustomization') as unknown as { namespace: string }
    expect(readSource('deploy/prometheus/prometheus.yaml')).toContain(
      `names: [carteiro-api-metrics.${namespace}.svc.cluster.local], type: A, port: ${containerPort} }`,
    )
  })

  test.each(['carteiro-api', 'carteiro-worker'])(
    'keep one pod of %s through a disruption: budget, service and deployment agree',
    name => {
      const { spec } = named('PodDisruptionBudget', name)
      const { labels } = podsOf().find(found => found.name === name)!
      const deployment = named(name === 'carteiro-api' ? 'Deployment' : 'StatefulSet', name).spec!
      expect((spec!.selector as { matchLabels: object }).matchLabels).toEqual(labels)
      expect((deployment.selector as { matchLabels: object }).matchLabels).toEqual(labels)
      expect(deployment.replicas as number).toBeGreaterThan(spec!.minAvailable as number)
      expect(named('Service', name).spec!.selector).toEqual(labels)
    },
  )
})

test('what a worker writes into its data folder outlives it: a named volume in compose, a claim in Kubernetes', () => {
  const folder = /CARTEIRO_DATA=(\S+)/.exec(readSource('deploy/Dockerfile'))![1]!
  const [source] = compose()
    .services.worker!.volumes!.find(volume => volume.split(':')[1] === folder)!
    .split(':')
  expect(Object.keys(compose().volumes)).toContain(source)
  const { pod, claims } = podsOf().find(({ name }) => name === 'carteiro-worker')!
  const mounted = pod.containers[0]!.volumeMounts.find(({ mountPath }) => mountPath === folder)!.name
  expect(claims).toEqual([mounted])
  expect(named('StatefulSet', 'carteiro-worker').spec!.serviceName).toBe('carteiro-worker')
})

test('the units are hardened', () => {
  expect(units()).toHaveLength(3)
  for (const { path, valuesOf } of units()) {
    const expected: Record<string, string> = {
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      PrivateTmp: 'yes',
      CapabilityBoundingSet: '',
      StateDirectory: 'carteiro',
      User: 'carteiro',
      SystemCallFilter: '@system-service',
    }
    for (const [key, value] of Object.entries(expected)) expect(valuesOf(key), `${path}: ${key}`).toEqual([value])
    // The end of one unit would take away the shared memory of the database of another one, which has the same user.
    expect(valuesOf('RemoveIPC'), path).toEqual([])
    // The only folder that may be written is the one where the program keeps its data.
    expect(valuesOf('Environment').join(' '), path).toContain('CARTEIRO_DATA=/var/lib/carteiro')
    expect(
      valuesOf('EnvironmentFile').some(file => file.includes('owner.env')),
      path,
    ).toBe(path.includes('migrate'))
  }
})
