import { composeEmail } from '../../src/channels/email/message/compose.js'
import { cpuSeconds } from '../support/cpu.js'
import { machine, median, note, print, ratioOf, table, verdict } from '../support/report.js'
import { answerOf, stop, type Workspace, withWorkspace } from '../support/workspace.js'
import { DeliveringGateway } from './gateway.js'
import { measureLatency } from './latency.js'
import { sampleMessage } from './message.js'
import { missingPostfix, startPostfix } from './postfix.js'
import { bareSignatures, makeSigningKey, type SigningKey } from './signing.js'
import { type Sink, startSink } from './sink.js'

export interface DeliveryOptions {
  count: number
  rounds: number
  queued: number
}

/** One line of the table, with what each round gave. */
interface Row {
  name: string
  rates: number[]
  cpu: Record<string, number>[]
  statements: number[]
  transactions: number[]
  logged: number[]
  stored: number[]
}

interface Contestant {
  rows: Row[]
  /** One sample for each of its rows. */
  measure(): Promise<Sample[]>
}

interface Sample {
  seconds: number
  cpu: Record<string, number>
  statements?: number
  transactions?: number
  logged?: number
  stored?: number
}

interface Family {
  name: string
  gateway: Contestant
  client: Contestant
  postfix: Contestant | null
}

const PEER_WARM_UP = 200
const SIGNING_SECONDS = 2

/**
 * How fast accepted e-mails leave and are committed as sent, against Postfix relaying the same to the same server, and
 * against bare mail clients without a database: unsigned, and signed with both kinds of key. All in one run, in turns.
 */
export const benchDelivery = (options: DeliveryOptions): Promise<void> => withWorkspace(workspace => compare(workspace, options))

async function compare(workspace: Workspace, options: DeliveryOptions): Promise<void> {
  const { count, rounds, queued } = options
  const sink = await startSink(workspace)
  const bytes = composeEmail(await sampleMessage()).length
  const skipped: string[] = []
  const families: Family[] = []
  for (const algorithm of [null, 'rsa-sha256', 'ed25519-sha256'] as const) {
    const key = algorithm === null ? null : makeSigningKey(workspace, algorithm)
    const missing = missingPostfix(key !== null)
    const name = algorithm ?? 'unsigned'
    if (missing !== null) skipped.push(`postfix, ${name}: skipped (${missing})`)
    families.push({
      name,
      gateway: await gatewayOf(workspace, sink, key, name, count),
      client: clientOf(workspace, sink, key, 'ours', `limit: our client alone, ${name}`, count),
      postfix: missing === null ? postfixOf(workspace, sink, key, name, count, bytes) : null,
    })
  }
  const nodemailer = clientOf(workspace, sink, null, 'nodemailer', 'nodemailer’s pool alone, unsigned', count)
  const contestants = [...families.flatMap(({ gateway, client, postfix }) => [gateway, client, postfix]), nodemailer].filter(
    contestant => contestant !== null,
  )
  const signatures: number[] = []
  for (let round = 1; round <= rounds; round++) {
    signatures.push(bareSignatures(SIGNING_SECONDS))
    // There and back: what grows or fades over minutes favours nobody.
    for (const one of round % 2 === 1 ? contestants : contestants.toReversed()) await measure(one, count, `${round} of ${rounds}`)
  }
  print(`\n${machine()}; ${bytes} bytes an e-mail; median of ${rounds} × ${count}\n\n`)
  print(tableOf(contestants.flatMap(contestant => contestant.rows)))
  for (const line of skipped) print(`${line}\n`)
  print('\n')
  for (const family of families) judge(family, median(signatures))
  await measureLatency(workspace, sink, rounds, queued)
}

const rowOf = (name: string): Row => ({ name, rates: [], cpu: [], statements: [], transactions: [], logged: [], stored: [] })

async function measure({ rows, measure: take }: Contestant, count: number, round: string): Promise<void> {
  const samples = await take()
  for (const [index, { seconds, cpu, ...database }] of samples.entries()) {
    const row = rows[index]!
    row.rates.push(count / seconds)
    row.cpu.push(cpu)
    for (const name of ['statements', 'transactions', 'logged', 'stored'] as const)
      if (database[name] !== undefined) row[name].push(database[name])
    note(`round ${round}, ${row.name}: ${Math.round(count / seconds)} a second`)
  }
}

async function gatewayOf(
  workspace: Workspace,
  sink: Sink,
  key: SigningKey | null,
  name: string,
  count: number,
): Promise<Contestant> {
  const subject = await workspace.createSubject(`delivery_${name.replace(/\W+/g, '_')}`)
  return {
    rows: [rowOf(`ours: drained, ${name}`), rowOf(`ours: accepted and delivered, ${name}`)],
    async measure() {
      const gateway = await DeliveringGateway.start(workspace, subject, sink, key)
      const samples = [await gateway.drain(count), await gateway.pipeline(count)]
      await gateway.stop()
      return samples
    },
  }
}

function clientOf(
  workspace: Workspace,
  sink: Sink,
  key: SigningKey | null,
  client: 'ours' | 'nodemailer',
  name: string,
  count: number,
): Contestant {
  const signing = key === null ? [] : ['--key', key.file, '--domain', key.domain, '--selector', key.selector]
  return {
    rows: [rowOf(name)],
    async measure() {
      const child = workspace.fork('delivery/mailer', ['--port', String(sink.port), '--client', client, ...signing], {})
      await answerOf(child)
      const [cpu, start] = [cpuSeconds(child.pid!), performance.now()]
      child.send(count)
      await answerOf(child)
      const seconds = (performance.now() - start) / 1000
      const sample = { seconds, cpu: { client: ((cpuSeconds(child.pid!) - cpu) * 1000) / count } }
      await stop(child)
      return [sample]
    },
  }
}

function postfixOf(
  workspace: Workspace,
  sink: Sink,
  key: SigningKey | null,
  name: string,
  count: number,
  bytes: number,
): Contestant {
  return {
    rows: [rowOf(`postfix${key === null ? '' : ' with opendkim'}, ${name}`)],
    async measure() {
      const postfix = await startPostfix(workspace, sink.port, key)
      const relay = async (many: number): Promise<void> => {
        const { received } = sink
        await postfix.inject(many, bytes)
        await sink.until(received + many)
        await postfix.untilEmpty()
      }
      await relay(PEER_WARM_UP)
      const [cpu, start] = [postfix.cpuSeconds(), performance.now()]
      await relay(count)
      const seconds = (performance.now() - start) / 1000
      const sample = { seconds, cpu: { postfix: ((postfix.cpuSeconds() - cpu) * 1000) / count } }
      await postfix.stop()
      return [sample]
    },
  }
}

function tableOf(rows: readonly Row[]): string {
  const number = (values: readonly number[], digits: number): string =>
    values.length === 0 ? '–' : median(values).toFixed(digits)
  const kilobytes = (values: readonly number[]): string =>
    number(
      values.map(value => value / 1000),
      1,
    )
  const cpu = (row: Row): string =>
    Object.keys(row.cpu[0]!)
      .map(
        part =>
          `${part} ${number(
            row.cpu.map(round => round[part]!),
            2,
          )}`,
      )
      .join(' + ')
  return table([
    ['', 'e-mails/s', 'lowest–highest', 'statements', 'transactions', 'WAL kB', 'stored kB', 'CPU ms an e-mail'],
    ...rows.map(row => [
      row.name,
      number(row.rates, 0),
      `${Math.min(...row.rates).toFixed(0)}–${Math.max(...row.rates).toFixed(0)}`,
      number(row.statements, 3),
      number(row.transactions, 3),
      kilobytes(row.logged),
      kilobytes(row.stored),
      cpu(row),
    ]),
  ])
}

function judge({ name, gateway, client, postfix }: Family, signatures: number): void {
  // Round by round, since neighbours in time had the same machine.
  const ratio = (a: Row, b: Row): number => ratioOf(a.rates, b.rates)
  const [drained, pipelined] = gateway.rows as [Row, Row]
  const [limit] = client.rows as [Row]
  if (postfix !== null) {
    verdict(`drained / postfix, ${name}`, ratio(drained, postfix.rows[0]!), 'at least', 1)
    verdict(`accepted and delivered / postfix, ${name}`, ratio(pipelined, postfix.rows[0]!), 'at least', 1)
  }
  verdict(`drained / our client alone, ${name}`, ratio(drained, limit), 'at least', 0.4)
  if (name === 'rsa-sha256')
    print(`${''.padEnd(14)}drained / bare RSA signatures of one processor: ${(median(drained.rates) / signatures).toFixed(2)}\n`)
}
