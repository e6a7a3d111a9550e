import { createReadStream, existsSync } from 'node:fs'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Batch } from '../../../client/client.js'
import { OperatorError } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import { oneLine, print } from '../output.js'
import { drawBar, plainProgress, type ShownBatch, showLine } from '../progress.js'
import { describeFailure, gatewayOf, isTemporary, type RemoteOptions, readReply, remoteCommand } from '../remote.js'
import { readText } from '../text-file.js'
import { PRIVATE, writeWhole } from '../whole-file.js'

interface SendBulkOptions extends RemoteOptions {
  name?: string
  mapping?: string
  base?: string
  dryRun?: boolean
  rejects?: string
  result?: string
}

export function sendBulkCommand(): Command {
  return remoteCommand('send-bulk', 'envia um arquivo CSV ou XLSX, uma notificação por linha; repetido, continua de onde parou')
    .argument('<arquivo>', 'CSV ou XLSX com os nomes das colunas na primeira linha')
    .option('--name <nome>', 'nome do lote (padrão: o do arquivo); com outro nome, o mesmo arquivo sai de novo')
    .option('--mapping <nome ou arquivo>', 'mapeamento salvo, ou arquivo JSON com {"Coluna": "campo"}')
    .option('--base <arquivo>', 'arquivo JSON com os campos iguais em todas as linhas (assunto, conteúdo…)')
    .option('--dry-run', 'só confere as linhas e mostra os erros')
    .option('--rejects <arquivo>', 'grava as linhas que não saíram, com o motivo')
    .option('--result <arquivo>', 'grava o resultado de cada linha')
    .action(sendBulk)
}

type Api = ReturnType<typeof gatewayOf>

const POLL_MS = 500
const TRIES = 20
/** The longest parameter: servers refuse long addresses. A longer text is saved as a mapping first. */
const MAX_PARAMETER = 4_000

async function sendBulk(file: string, options: SendBulkOptions): Promise<void> {
  const api = gatewayOf(options)
  if (!existsSync(file)) throw new OperatorError(`O arquivo ${file} não existe. Verifique o nome e a pasta.`)
  let paused = false
  const pause = (): void => {
    paused = true
  }
  process.once('SIGINT', pause)
  process.once('SIGTERM', pause)
  const received = await upload(api, file, options)
  const show = options.json ? () => {} : showProgress()
  let batch = await follow(api, received, show, current => current.situacao !== 'checking' || paused)
  if (!options.dryRun && !paused && batch.boas > 0) {
    if (batch.situacao !== 'done') batch = (await ask(api, 'POST', `/gw/bulk/${batch.id}/start`)) as Batch
    batch = await follow(api, batch, show, current => current.situacao !== 'sending' || paused)
  }
  // A batch that an earlier run of the command started is paused too.
  if (!options.dryRun && paused && batch.situacao === 'sending')
    batch = (await ask(api, 'POST', `/gw/bulk/${batch.id}/pause`)) as Batch
  show(null)
  process.off('SIGINT', pause).off('SIGTERM', pause)
  if (options.rejects !== undefined) await download(api, `/gw/bulk/${batch.id}/rejects`, options.rejects)
  if (options.result !== undefined) await download(api, `/gw/bulk/${batch.id}/result`, options.result)
  batch = (await ask(api, 'GET', `/gw/bulk/${batch.id}`)) as Batch
  report(batch, options)
}

/** A line that does not go is a failure of the command: scripts must not overlook it. */
function report(batch: Batch, { json, dryRun, rejects }: SendBulkOptions): void {
  const unsent = batch.rejeitadas + batch.falhas
  if (json) print(JSON.stringify(batch))
  else {
    print(`Lote ${batch.id}: ${batch.situacao}. ${batch.total} linhas: ${batch.aceitas} aceitas, ${unsent} com erro.`)
    for (const { linha, coluna, erro } of batch.erros)
      print(oneLine(`  linha ${linha}${coluna === null ? '' : `, ${coluna}`}: ${erro}`))
  }
  if (batch.situacao === 'paused')
    throw new OperatorError(
      `Pausado${batch.motivo === null ? '' : `: ${batch.motivo}`}. O mesmo comando continua de onde parou; nenhuma linha sai duas vezes.`,
    )
  if (batch.situacao === 'cancelled')
    throw new OperatorError(`O lote foi cancelado${batch.motivo === null ? '' : `: ${batch.motivo}`}.`)
  if (batch.situacao === 'checking' || (!dryRun && batch.boas > 0 && ['checked', 'sending'].includes(batch.situacao)))
    throw new OperatorError(`Interrompido antes do ${dryRun ? 'fim da conferência' : 'envio'}; o mesmo comando continua.`)
  const where = rejects === undefined ? 'Use --rejects ARQUIVO para guardá-las com o motivo.' : `Elas estão em ${rejects}.`
  if (unsent > 0)
    throw new OperatorError(`${unsent} linhas ${dryRun ? 'não podem ser enviadas' : 'não foram enviadas'}. ${where}`)
}

async function upload(api: Api, file: string, { name, mapping, base }: SendBulkOptions): Promise<Batch> {
  const query = new URLSearchParams({ name: name ?? basename(file) })
  const asFile = mapping !== undefined && existsSync(mapping)
  const given = {
    ...(mapping === undefined ? {} : { mapping: asFile ? await readJson(mapping) : mapping }),
    ...(base === undefined ? {} : { base: await readJson(base) }),
  }
  const text = JSON.stringify(given)
  if (text.length > MAX_PARAMETER && (mapping === undefined || asFile)) {
    // The same content has the same name, so that a repetition of the command finds the same batch.
    const saved = `send-bulk ${sha256(text).slice(0, 16)}`
    await ask(api, 'PUT', `/gw/bulk/mappings/${encodeURIComponent(saved)}`, given)
    query.set('mapping', saved)
  } else {
    for (const [key, value] of Object.entries(given)) query.set(key, typeof value === 'string' ? value : JSON.stringify(value))
  }
  const request = fetch(`${api.url}/gw/bulk?${query}`, {
    method: 'POST',
    headers: { authorization: api.token, 'content-type': 'application/octet-stream' },
    body: Readable.toWeb(createReadStream(file)) as ReadableStream,
    duplex: 'half',
  } as RequestInit)
  const reply = await request.then(readReply).catch(cause => {
    throw new OperatorError(`Sem conexão com ${api.url}. Verifique o endereço e se o servidor está no ar.`, { cause })
  })
  if (!reply.ok || reply.answer === null) throw new OperatorError(describeFailure(reply, api.url))
  return reply.answer.data as Batch
}

async function readJson(file: string): Promise<object> {
  const text = await readText(file)
  try {
    return JSON.parse(text) as object
  } catch (cause) {
    throw new OperatorError(`O arquivo ${file} não é um JSON que se possa ler. Verifique aspas, vírgulas e chaves.`, { cause })
  }
}

async function follow(api: Api, first: Batch, show: (batch: Batch) => void, until: (batch: Batch) => boolean): Promise<Batch> {
  let batch = first
  for (;;) {
    show(batch)
    if (until(batch)) return batch
    await sleep(POLL_MS)
    batch = (await ask(api, 'GET', `/gw/bulk/${batch.id}`)) as Batch
  }
}

/** null: the end. */
function showProgress(): (batch: ShownBatch | null) => void {
  const show = showLine()
  return batch => (batch === null ? show(null) : show(width => drawBar(batch, width), plainProgress(batch)))
}

/** The server may be away for a moment; every question here may be repeated. */
async function ask({ url, token }: Api, method: string, path: string, body?: object): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    const request = fetch(`${url}${path}`, {
      method,
      headers: { authorization: token, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const reply = await request.then(readReply).catch(() => null)
    if (reply !== null) {
      if (reply.ok && reply.answer !== null) return reply.answer.data
      if (!isTemporary(reply) || tries === TRIES) throw new OperatorError(describeFailure(reply, url))
    } else if (tries === TRIES) throw new OperatorError(`Sem conexão com ${url}. O mesmo comando continua de onde parou.`)
    await sleep(Math.min(tries * POLL_MS, 5_000))
  }
}

async function download({ url, token }: Api, path: string, file: string): Promise<void> {
  const missing = (why: number | string, cause?: unknown): OperatorError =>
    new OperatorError(
      `A API não deu ${path} (${why}). O lote não se perdeu: baixe o arquivo depois, com o mesmo token, em ${url}${path}.`,
      { cause },
    )
  try {
    const answer = await fetch(`${url}${path}`, { headers: { authorization: token } })
    if (!answer.ok || answer.body === null) throw missing(answer.status)
    // The file has personal data.
    await writeWhole(file, Readable.fromWeb(answer.body as never), PRIVATE)
  } catch (error) {
    throw error instanceof OperatorError ? error : missing('a conexão caiu', error)
  }
}
