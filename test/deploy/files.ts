import { listFiles, readSource } from '../support/sources.js'
import { readYaml } from './yaml.js'

/** The files of deploy/, read as the programs read them that they are for. */
export interface Container {
  name: string
  image: string
  args?: string[]
  env?: { name: string; value: string }[]
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[]
  ports?: { name: string; containerPort: number }[]
  resources: { requests: Record<string, string>; limits: Record<string, string> }
  securityContext: Record<string, unknown>
  volumeMounts: { name: string; mountPath: string }[]
  lifecycle?: { preStop: { exec: { command: string[] } } }
  [probe: string]: unknown
}

export interface PodSpec {
  containers: Container[]
  securityContext: Record<string, unknown>
  terminationGracePeriodSeconds?: number
  restartPolicy?: string
  volumes: { name: string }[]
}

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  stringData?: Record<string, string>
  spec?: Record<string, unknown> & {
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec }
    volumeClaimTemplates?: { metadata: { name: string } }[]
  }
  resources?: string[]
}

interface ComposeService {
  image: string
  entrypoint?: string[]
  command?: string[]
  environment?: Record<string, string>
  env_file?: string
  secrets?: string[]
  volumes?: string[]
  networks?: string[]
  ports?: string[]
  stop_grace_period?: string
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[]; disable?: boolean }
  restart?: string
}

export interface Compose {
  services: Record<string, ComposeService>
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>
  volumes: Record<string, unknown>
  secrets: Record<string, { file: string }>
}

const KUBERNETES = 'deploy/kubernetes'

/** Read once: the tests ask for them again and again. */
export const manifests = once((): Manifest[] =>
  listFiles(KUBERNETES)
    .filter(path => path.endsWith('.yaml'))
    .flatMap(path => readYaml<Manifest>(readSource(path))),
)

export const compose = once((): Compose => readYaml<Compose>(readSource('deploy/compose/compose.yaml'))[0]!)

function once<T>(read: () => T): () => T {
  let found: T | undefined
  return () => {
    found ??= read()
    return found
  }
}

export const dockerfile = (): { instruction: string; value: string }[] =>
  readSource('deploy/Dockerfile')
    .replaceAll(/\\\n/g, '')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.startsWith('#'))
    .map(line => {
      const [, instruction, value] = /^([A-Z]+)\s+(.*)$/.exec(line.trim())!
      return { instruction: instruction!, value: value! }
    })

export interface Unit {
  path: string
  /** Every value of a key, in the order of the file. */
  valuesOf(key: string): string[]
}

export const units = (): Unit[] =>
  listFiles('deploy/systemd')
    .filter(path => path.endsWith('.service'))
    .map(path => {
      const lines = readSource(path)
        .split('\n')
        .map(line => /^([A-Za-z]+)=(.*)$/.exec(line))
        .filter(match => match !== null)
      return { path, valuesOf: key => lines.filter(([, name]) => name === key).map(([, , value]) => value!) }
    })

/** The members of a file of NAME=value. */
export const readEnvFile = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(/^([A-Z][A-Z0-9_]*)=(.*)$/gm)].map(([, name, value]) => [name!, value!]))
