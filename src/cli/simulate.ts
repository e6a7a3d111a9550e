import { Command, InvalidArgumentError } from 'commander'
import { openSimulator } from '../app/simulator.js'
import { print } from './output.js'

interface SimulateOptions {
  host: string
  httpPort: number
  smtpPort: number
  smppPort: number
  json?: boolean
}

export function simulateCommand(): Command {
  return new Command('simulate')
    .description('inicia só o simulador de operadoras')
    .option('--host <endereço>', 'endereço em que escutar', '127.0.0.1')
    .option('--http-port <porta>', 'porta da página e da API do simulador (0: qualquer livre)', readPort, 0)
    .option('--smtp-port <porta>', 'porta do servidor de e-mail simulado (0: qualquer livre)', readPort, 0)
    .option('--smpp-port <porta>', 'porta do SMSC simulado (0: qualquer livre)', readPort, 0)
    .option('--json', 'mostra os endereços em JSON, numa linha')
    .action(async ({ json, ...options }: SimulateOptions) => {
      const simulator = await openSimulator(options)
      const stop = (): void => {
        simulator.close().then(
          () => process.exit(0),
          () => process.exit(1),
        )
      }
      process.once('SIGTERM', stop)
      process.once('SIGINT', stop)
      // The supervisor is gone: nobody else will tell us to stop.
      process.once('disconnect', stop)
      print(
        json
          ? JSON.stringify({ simulator: simulator.url, smtp: simulator.smtpUrl, smpp: simulator.smppUrl })
          : `Simulador  ${simulator.url}\nSMTP  ${simulator.smtpUrl}\nSMPP  ${simulator.smppUrl}`,
      )
      process.send?.({ ready: simulator.url })
    })
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('Informe uma porta de 0 a 65535.')
  return Number(text)
}
