import { statfs } from 'node:fs/promises'
import { connect } from 'node:tls'
import { runCarrierCheck } from '../channels/carrier-check.js'
import { moduleOf } from '../channels/registry.js'
import { createTemplateRunner } from '../channels/template-runner.js'
import type { Keys } from '../domain/access/keys.js'
import { isLoopbackHost } from '../domain/access/target-address.js'
import { FilesUnavailable, OperatorError } from '../domain/errors.js'
import { brazilianDate } from '../domain/text/dates.js'
import { DAY_MS, GIB } from '../domain/units.js'
import { mayRewriteHistory } from '../store/application-role.js'
import { type Hold, listHolds } from '../store/delivery/holds.js'
import { countQueue } from '../store/delivery/queue-depth.js'
import { countOutside } from '../store/files/move.js'
import { probeFiles } from '../store/files/probe.js'
import { readRevision } from '../store/installation.js'
import { type Pool, readServerVersion } from '../store/postgres.js'
import { openConsoleCarriers } from './api/console-carriers.js'
import type { Config } from './config.js'
import { clearTextDatabases, TLS_ADVICE } from './config-warnings.js'
import { describeReplication, openFiles, REPLICATION_ADVICE } from './database/database.js'
import { openDocumentSigner } from './document-signer.js'
import { openLog } from './log.js'

export type Health = 'ok' | 'warn' | 'bad'

/** One thing that was looked at. `advice`: what to do about it; null: nothing. */
export interface Finding {
  name: string
  state: Health
  found: string
  advice: string | null
}

interface Parts {
  config: Config
  keys: Keys
  pool: Pool
}

const ASK_MS = 10_000
/** A delivery that is due and waits longer than this has no worker, or too few. */
const LATE_SECONDS = 300

/** Everything that an installation needs to send, each with what to do where it fails. Sends nothing. */
export async function* examine(parts: Parts): AsyncGenerator<Finding> {
  yield* settings(parts.config)
  yield* database(parts)
  yield await disk(parts.config)
  yield await files(parts)
  yield* await carriers(parts)
  yield* await publicAddress(parts.config)
  yield await signature(parts)
  yield checkpoints(parts.config)
}

const ok = (name: string, found: string): Finding => ({ name, state: 'ok', found, advice: null })
const warn = (name: string, found: string, advice: string): Finding => ({ name, state: 'warn', found, advice })
const bad = (name: string, found: string, advice: string): Finding => ({ name, state: 'bad', found, advice })

/** The warnings about settings that a start logs. */
const settings = ({ warnings }: Config): Finding[] =>
  warnings.length === 0
    ? [ok('Configurações', 'nenhum aviso')]
    : warnings.map(warning =>
        warn('Configurações', warning, 'Corrija a configuração e reinicie o serviço: docs/configuracoes.md.'),
      )

async function* database({ config, pool }: Parts): AsyncGenerator<Finding> {
  const version = await readServerVersion(pool)
  const where = config.databaseUrl === null ? 'embutido' : 'de DATABASE_URL'
  yield ok('Banco de dados', `PostgreSQL ${Math.floor(version / 10_000)}.${version % 10_000}, ${where}`)
  const clear = clearTextDatabases(config).map(({ name, servers }) => `${name} até ${servers.join(', ')}`)
  yield clear.length === 0
    ? ok('TLS do banco', 'como a URL diz, ou desnecessário: o banco é desta máquina')
    : warn('TLS do banco', `não é pedido por ${clear.join('; ')}`, TLS_ADVICE)
  yield (await mayRewriteHistory(pool))
    ? warn(
        'Dono do banco',
        'o usuário de DATABASE_URL pode mudar o histórico; só gatilhos o protegem',
        'Separe o dono das tabelas do usuário do programa: docs/operacao.md, "Dono e usuário do banco".',
      )
    : ok('Dono do banco', 'o programa não pode mudar o histórico')
  const replication = await describeReplication(pool)
  yield replication === null
    ? ok('Réplicas', 'nenhuma, ou síncronas: o que foi respondido sobrevive à troca de servidor')
    : warn('Réplicas', replication, REPLICATION_ADVICE)
  const before = Date.now()
  const { nowMs } = await readRevision(pool)
  const apartMs = Math.abs(nowMs - (before + Date.now()) / 2)
  const apart = `${(apartMs / 1_000).toFixed(1)} s entre este nó e o banco`
  yield apartMs < 2_000
    ? ok('Relógio', apart)
    : bad('Relógio', apart, 'Ligue a sincronização (chrony ou systemd-timesyncd) nas duas máquinas.')
  const late = (await countQueue(pool)).filter(({ state, oldestSeconds }) => state === 'queued' && oldestSeconds > LATE_SECONDS)
  const oldest = Math.max(0, ...late.map(({ oldestSeconds }) => oldestSeconds))
  yield late.length === 0
    ? ok('Fila', 'nada espera além da hora')
    : warn(
        'Fila',
        `o mais antigo espera há ${Math.round(oldest / 60)} min`,
        'Confira se há um worker no ar e as operadoras: carteiro queue count.',
      )
  const holds = await listHolds(pool)
  if (holds.length === 0) yield ok('Retenções', 'nada está retido')
  for (const hold of holds)
    yield warn('Retenções', describeHold(hold), 'O que está retido espera na fila. Solte com carteiro resume e as mesmas opções.')
}

function describeHold({ channel, carrier, accountName, reason, since }: Hold): string {
  const parts = [
    ...(channel === null ? [] : [`canal ${moduleOf(channel).wire}`]),
    ...(carrier === null ? [] : [`operadora ${carrier}`]),
    ...(accountName === null ? [] : [`conta ${accountName}`]),
  ]
  const what = parts.length === 0 ? 'a instalação inteira' : parts.join(', ')
  return `${what}, desde ${brazilianDate(since)}: ${reason}`
}

async function disk({ dataFolder }: Config): Promise<Finding> {
  const name = 'Disco'
  try {
    const { bavail, blocks, bsize } = await statfs(dataFolder)
    const found = `${((bavail * bsize) / GIB).toFixed(1)} GiB livres (${Math.round((bavail / blocks) * 100)} %) em ${dataFolder}`
    const advice = 'Libere espaço ou aumente o disco: sem ele o gateway para de aceitar envios.'
    if (bavail * bsize < GIB) return bad(name, found, advice)
    return bavail / blocks < 0.1 ? warn(name, found, advice) : ok(name, found)
  } catch {
    return ok(name, `${dataFolder} ainda não existe`)
  }
}

/** Writes, reads and deletes an object: each may be forbidden by itself. */
async function files({ config, pool }: Parts): Promise<Finding> {
  const name = 'Arquivos (FILES_URL)'
  const { count, bytes } = await countOutside(pool)
  const outside = `${count} arquivos fora do banco, ${(bytes / GIB).toFixed(1)} GiB`
  const store = openFiles(config)
  if (store === null)
    return count === 0
      ? ok(name, 'gravações e cartas ficam no banco de dados')
      : bad(name, outside, 'Defina FILES_URL como antes, neste e em todos os processos: sem ela os arquivos não são lidos.')
  try {
    await probeFiles(pool, store)
    return ok(name, `${store.name} grava, lê e apaga; ${outside}`)
  } catch (error) {
    if (!(error instanceof FilesUnavailable)) throw error
    return bad(name, error.message, 'Cartas e gravações esperam até que funcione. Corrija e rode de novo: carteiro doctor.')
  }
}

async function carriers({ config, keys, pool }: Parts): Promise<Finding[]> {
  const templates = createTemplateRunner()
  try {
    const { configured, checkSetup } = await openConsoleCarriers(config, { keys, pool, clock: Date.now, templates, options: {} })
    if (configured.length === 0)
      return [
        warn(
          'Operadoras',
          'nenhuma: tudo vai para o simulador',
          'Para enviar de verdade, configure os canais: veja .env.example e docs/.',
        ),
      ]
    const answers = configured.map(async ({ identity, check }): Promise<Finding> => {
      const name = `Operadora ${identity}`
      if (check === null) return ok(name, 'configurada; não há como perguntar sem enviar')
      const { ok: holds, reason, answer } = await runCarrierCheck(check)
      return holds
        ? ok(name, answer ?? 'aceitou as credenciais')
        : bad(name, reason ?? answer ?? 'recusou', 'Confira o endereço e as credenciais.')
    })
    const setup = (await checkSetup!()).map(({ name, subject, state, found, advice }): Finding => {
      const seen = found.length === 0 ? 'nada publicado' : found.join(' | ')
      const title = `${name} de ${subject}`
      if (state === 'good') return ok(title, seen)
      return state === 'bad' ? bad(title, seen, advice) : warn(title, seen, advice)
    })
    return [...(await Promise.all(answers)), ...setup]
  } finally {
    await templates.close()
  }
}

async function publicAddress({ publicUrl }: Config): Promise<Finding[]> {
  const name = 'PUBLIC_URL'
  const url = new URL(publicUrl)
  if (isLoopbackHost(url.hostname))
    return [warn(name, `${publicUrl} só vale nesta máquina`, 'Defina PUBLIC_URL com o endereço que os destinatários abrem.')]
  const findings: Finding[] = []
  if (url.protocol !== 'https:')
    findings.push(warn(name, `${publicUrl} sem https`, 'Ponha um proxy com TLS na frente e mude PUBLIC_URL.'))
  else findings.push(await certificate(url))
  try {
    const response = await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(ASK_MS), redirect: 'manual' })
    const body = await response.text()
    const isOurs = response.ok && body.includes('"ok"')
    findings.push(
      isOurs
        ? ok(name, `${publicUrl} responde`)
        : bad(name, `${publicUrl} respondeu ${response.status}`, 'O proxy deve levar todas as rotas a este gateway.'),
    )
  } catch {
    findings.push(bad(name, `${publicUrl} não responde`, 'Confira o DNS, o proxy e se o gateway está no ar (carteiro start).'))
  }
  return findings
}

function certificate({ hostname, port }: URL): Promise<Finding> {
  const name = 'Certificado TLS'
  const advice = 'Renove o certificado no proxy; com Caddy ou certbot isso é automático.'
  return new Promise(resolve => {
    const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname, timeout: ASK_MS }, () => {
      const until = new Date(socket.getPeerCertificate().valid_to)
      const days = Math.floor((until.getTime() - Date.now()) / DAY_MS)
      socket.end()
      resolve(days < 14 ? warn(name, `vence em ${days} dias`, advice) : ok(name, `vale por mais ${days} dias`))
    })
    socket.on('timeout', () => socket.destroy(new Error('sem resposta')))
    socket.on('error', ({ message }) => resolve(bad(name, message, advice)))
  })
}

async function signature({ config, keys, pool }: Parts): Promise<Finding> {
  const name = 'Assinatura dos documentos'
  try {
    const signer = await openDocumentSigner(config, pool, keys, openLog('silent', 'command'), new Date())
    const { selfMade, description, validTo } = signer.certificate
    await signer.close()
    if (selfMade) return warn(name, description, 'Para um certificado ICP-Brasil, veja SIGNATURE_P12_FILE em .env.example.')
    const days = Math.floor((validTo.getTime() - Date.now()) / DAY_MS)
    return days < 30
      ? warn(name, `${description}; vence em ${days} dias`, 'Renove o certificado.')
      : ok(name, `${description}; vale por mais ${days} dias`)
  } catch (error) {
    if (error instanceof OperatorError) return bad(name, error.message, 'Corrija e rode de novo.')
    throw error
  }
}

function checkpoints({ checkpoints: { authorities, exports } }: Config): Finding {
  const name = 'Checkpoints'
  if (exports.length === 0)
    return warn(
      name,
      'não saem desta máquina',
      'Defina CHECKPOINT_EXPORT: só uma cópia fora daqui prova que o histórico não foi reescrito.',
    )
  return ok(name, `vão a ${exports.length} destino(s); ${authorities.length} autoridade(s) de carimbo do tempo`)
}
