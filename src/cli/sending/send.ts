import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Command } from 'commander'
import type { SendRequest } from '../../../client/client.js'
import { OperatorError } from '../../domain/errors.js'
import { channelNames } from '../options.js'
import { printRecord } from '../output.js'
import { type RemoteOptions, remoteCommand, withGateway } from '../remote.js'
import { readText } from '../text-file.js'

type SendOptions = RemoteOptions & {
  to?: string
  name?: string
  subject?: string
  content?: string
  customId?: string
  set: string[]
  attach: string[]
  key?: string
}

const EXAMPLE = `${channelNames[1]}.number=11987654321`

export function sendCommand(): Command {
  const collect = (value: string, previous: string[]): string[] => [...previous, value]
  return remoteCommand('send', 'envia uma notificação, como POST /gw/email')
    .argument('[arquivo]', 'JSON com o pedido; - lê da entrada; sem ele, valem só as opções')
    .option('--name <nome>', 'nome do destinatário (nameTo)')
    .option('--to <endereço>', 'e-mail do destinatário')
    .option('--subject <assunto>', 'assunto')
    .option('--content <html>', 'conteúdo em HTML')
    .option('--custom-id <referência>', 'referência sua (customID)')
    .option('--set <campo=valor>', `qualquer campo do pedido, como ${EXAMPLE}; pode repetir`, collect, [])
    .option('--attach <arquivo>', 'anexa um arquivo; pode repetir', collect, [])
    .option('--key <chave>', 'Idempotency-Key: repetido com a mesma chave, o comando não envia duas vezes')
    .action(async (file: string | undefined, options: SendOptions) => {
      const request = { ...(await readRequest(file)), ...given(options) }
      for (const assignment of options.set) assign(request, assignment)
      if (options.attach.length > 0) request.attachments = [...listAttachments(request), ...options.attach.map(readAttachment)]
      const { key } = options
      const answer = await withGateway(options, carteiro =>
        // The gateway says what is missing, in its own words.
        carteiro.send(request as unknown as SendRequest, key === undefined ? {} : { idempotencyKey: key }),
      )
      printRecord({ ...answer }, options)
    })
}

type Request = Record<string, unknown>

async function readRequest(file: string | undefined): Promise<Request> {
  if (file === undefined) return {}
  const written = await readText(file)
  try {
    const request: unknown = JSON.parse(written)
    if (typeof request === 'object' && request !== null && !Array.isArray(request)) return request as Request
  } catch {
    // Told below, like what is JSON and no object.
  }
  throw new OperatorError(`${file === '-' ? 'A entrada' : file} não é um objeto em JSON, como {"nameTo": "Maria", …}.`)
}

/** The attachments that the request has itself. */
function listAttachments({ attachments }: Request): object[] {
  if (attachments === undefined || attachments === null) return []
  if (!Array.isArray(attachments))
    throw new OperatorError('O campo attachments do pedido não é uma lista. Corrija-o, ou retire --attach.')
  return attachments
}

function given({ name, to, subject, content, customId }: SendOptions): Request {
  const members = { nameTo: name, to, subject, content, customID: customId }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}

/** "part.number=11987654321". Every value is a text: numbers of phones and documents are. */
function assign(request: Request, assignment: string): void {
  const [, path, value] = /^([^=]+)=([\s\S]*)$/.exec(assignment) ?? []
  const names = path?.split('.') ?? []
  if (value === undefined || names.some(name => !/^[A-Za-z_]\w*$/.test(name) || name === '__proto__'))
    throw new OperatorError(`--set: "${assignment}" não é campo=valor, como ${EXAMPLE}.`)
  let place = request
  for (const name of names.slice(0, -1)) {
    const inner = place[name]
    if (inner !== undefined && (typeof inner !== 'object' || inner === null || Array.isArray(inner)))
      throw new OperatorError(`--set: "${name}" já tem outro valor no pedido, que não é um objeto. Tire um dos dois.`)
    place[name] = { ...inner }
    place = place[name] as Request
  }
  place[names.at(-1)!] = value
}

const readAttachment = (path: string) => ({ name: basename(path), base64: readFile(path).toString('base64') })

function readFile(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    throw new OperatorError(`Não foi possível ler ${path}. Confira o caminho e a permissão.`)
  }
}
