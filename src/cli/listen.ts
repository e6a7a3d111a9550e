import { Command, Option } from 'commander'
import { readConfig } from '../app/config.js'
import { channelModules, findModule } from '../channels/registry.js'
import { OperatorError } from '../domain/errors.js'
import { payloadVersions } from '../domain/webhook.js'
import { forward } from './forwarding.js'
import { print } from './output.js'

interface ListenOptions {
  forwardTo: string
  token?: string
  url?: string
  payload: string
  channels?: string
  statuses?: string
  json?: boolean
}

export function listenCommand(): Command {
  return new Command('listen')
    .description('leva os eventos da conta a um endereço desta máquina, assinados, enquanto roda')
    .requiredOption('--forward-to <url>', 'endereço que recebe os avisos, como http://localhost:3000/avisos')
    .option('--token <token>', 'token da conta (padrão: CARTEIRO_TOKEN)')
    .option('--url <url>', 'endereço da API (padrão: CARTEIRO_URL ou http://HOST:PORT)')
    .addOption(new Option('--payload <versão>', 'versão do corpo').choices(payloadVersions).default('v2'))
    .option(
      '--channels <canais>',
      `só estes canais, separados por vírgulas: ${channelModules.map(({ wire }) => wire).join(', ')}`,
    )
    .option('--statuses <situações>', 'só estas situações, separadas por vírgulas: enviado, entregue, lido, …')
    .option('--json', 'uma linha em JSON por evento; a primeira traz o segredo')
    .action(listen)
}

async function listen(options: ListenOptions): Promise<void> {
  const { client } = readConfig(process.env)
  const token = options.token ?? client.token
  if (token === null) throw new OperatorError('Informe o token da conta com --token ou CARTEIRO_TOKEN.')
  // localhost:3000/avisos parses too, as an address of the scheme "localhost".
  if (!/^https?:\/\//i.test(options.forwardTo) || !URL.canParse(options.forwardTo))
    throw new OperatorError('--forward-to deve ser uma URL de http ou https, como http://localhost:3000/avisos.')
  const stop = new AbortController()
  const onSignal = (): void => stop.abort()
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
  const show = (record: object, text: string): void => print(options.json ? JSON.stringify(record) : text)
  await forward({
    url: (options.url ?? client.url).replace(/\/+$/, ''),
    token,
    forwardTo: options.forwardTo,
    interests: { versao: options.payload, canais: names(options.channels).map(toWire), situacoes: names(options.statuses) },
    onOpen: ({ id, secret }) =>
      show({ listener: id, secret, forwardTo: options.forwardTo }, `Segredo  ${secret}\nEscutando; Ctrl-C encerra.`),
    onForwarded: ({ message, status, body }) => {
      const { channel, notificationID, ...rest } = JSON.parse(body) as Record<string, string>
      const what = rest.status ?? rest.description
      show({ message, status, event: JSON.parse(body) }, `${status}  ${channel}  ${what}  ${notificationID}  ${message}`)
    },
    onTrouble: text => process.stderr.write(`${text}\n`),
    signal: stop.signal,
  })
}

/** What is no channel is left to the API, which says which ones there are. */
const toWire = (name: string): string => {
  return findModule(name)?.wire ?? name
}

const names = (text: string | undefined): string[] => (text === undefined ? [] : text.split(',').map(part => part.trim()))
