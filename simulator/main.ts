import { Command, InvalidArgumentError, Option } from 'commander'
import { OperatorError } from '../src/domain/errors.js'
import { nextFreePort } from './addresses.js'
import type { CarrierPort } from './channel.js'
import { CHANNELS } from './registry.js'
import { createSimulator, type Simulator, type SimulatorOptions } from './simulator.js'

/** Where people look for the simulator, from one start to the next. */
const PAGE_PORT = 8025

const MAX_ATTEMPTS = 20

const PORTS: readonly CarrierPort[] = [
  { name: 'http', description: `porta da página e da API do simulador; se omitida, ${PAGE_PORT} ou a próxima livre` },
  ...CHANNELS.flatMap(({ port }) => (port === undefined ? [] : [port])),
]

/** The command `carteiro simulate`. */
export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description('inicia só o simulador de operadoras')
    .option('--host <endereço>', 'endereço em que escutar', '127.0.0.1')
    // By the environment alone: other users of the machine can read the arguments of a process.
    .addOption(new Option('--key <chave>').env('SIMULATOR_KEY').argParser(readKey).hideHelp())
  for (const { name, description } of PORTS) {
    command.option(`--${name}-port <porta>`, `${description} (0: qualquer livre)`, readPort)
  }
  return command
    .option('--json', 'mostra os endereços em JSON, numa linha')
    .action(async ({ host, key, json, ...numbers }: GivenOptions) => {
      const ports = Object.fromEntries(PORTS.map(({ name }) => [name, (numbers[`${name}Port`] as number | undefined) ?? 0]))
      const options = { host, ports, ...(key === undefined ? {} : { key }) }
      const simulator = await (numbers.httpPort === undefined ? openAtPagePort(options) : openSimulator(options))
      stopWith(simulator)
      process.stdout.write(`${describe(simulator, json === true)}\n`)
      // A supervisor that is gone does not matter here: 'disconnect' tells of it.
      process.send?.({ ready: simulator.url }, undefined, undefined, () => {})
    })
}

interface GivenOptions {
  host: string
  key?: string
  json?: boolean
  [port: string]: unknown
}

async function openSimulator(options: SimulatorOptions): Promise<Simulator> {
  try {
    return await createSimulator(options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new OperatorError('A porta pedida para o simulador está em uso por outro programa. Escolha outra.', { cause: error })
  }
}

/** At the port where people look, or at the next one that is free. Another program may take a port between the look and the start. */
async function openAtPagePort(options: SimulatorOptions & { host: string }): Promise<Simulator> {
  for (let attempt = 1; ; attempt++) {
    const http = await nextFreePort(PAGE_PORT, options.host)
    try {
      return await openSimulator({ ...options, ports: { ...options.ports, http } })
    } catch (error) {
      const { port } = ((error as Error).cause ?? {}) as { port?: number }
      if (port !== http || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

function stopWith(simulator: Simulator): void {
  const stop = (): void => {
    simulator.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  // The supervisor is gone after 'disconnect', so no SIGTERM would ever come.
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.once(event, stop)
  // It may have gone while the simulator started, before anybody listened.
  if (process.connected === false) stop()
}

function describe({ url, key, carrierUrls }: Simulator, json: boolean): string {
  if (json) return JSON.stringify({ simulator: url, key, ...carrierUrls })
  const carriers = Object.entries(carrierUrls).map(([name, carrierUrl]) => `${name.toUpperCase()}  ${carrierUrl}`)
  return [`Simulador  ${url}`, `Chave  ${key}`, ...carriers].join('\n')
}

function readKey(text: string): string {
  if (!/^[0-9a-f]{32,128}$/i.test(text))
    throw new InvalidArgumentError('SIMULATOR_KEY deve ter de 32 a 128 dígitos hexadecimais.')
  return text
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('Informe uma porta de 0 a 65535.')
  return Number(text)
}
