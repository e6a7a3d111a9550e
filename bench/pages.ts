import { SCRIPT_PATH, STYLE_PATH } from '../src/http/recipient/assets.js'
import { CONNECTIONS, fullLoad } from './support/load.js'
import { machine, median, note, print, verdict } from './support/report.js'
import { type Server, type Subject, type Workspace, withWorkspace } from './support/workspace.js'

export interface PagesOptions {
  seconds: number
  rounds: number
}

interface Contestant {
  name: string
  path: string
  headers: Record<string, string>
  bytes: number
  rates: number[]
}

const WARM_UP_SECONDS = 2
const POOL = 10
const PERSON = { 'user-agent': 'Mozilla/5.0 (Linux; Android 13) Chrome/140.0.0.0', 'accept-language': 'pt-BR' }

/** How fast recipients' pages are shown, and how large they are, beside a static file of the same server. */
export const benchPages = (options: PagesOptions): Promise<void> => withWorkspace(workspace => compare(workspace, options))

async function compare(workspace: Workspace, { seconds, rounds }: PagesOptions): Promise<void> {
  const subject = await workspace.createSubject('pages')
  const server = await workspace.startServer(subject, [], POOL)
  const link = await sendOne(workspace, server, subject)
  const cookie = await open(server, link)
  const contestants: Contestant[] = [
    { name: 'limit: a static file', path: STYLE_PATH, headers: PERSON, bytes: 0, rates: [] },
    { name: 'landing', path: link, headers: PERSON, bytes: 0, rates: [] },
    { name: 'message', path: `${link}/mensagem`, headers: { ...PERSON, cookie }, bytes: 0, rates: [] },
    { name: 'content in its frame', path: `${link}/conteudo`, headers: { ...PERSON, cookie }, bytes: 0, rates: [] },
  ]
  for (const one of contestants) one.bytes = await measureBytes(server, one)
  for (let round = 1; round <= rounds; round++) {
    for (const one of contestants) {
      const target = { address: server.address, method: 'GET' as const, path: one.path, headers: one.headers, body: '' }
      await fullLoad(workspace, target, WARM_UP_SECONDS)
      const { perSecond } = await fullLoad(workspace, target, seconds)
      one.rates.push(perSecond)
      note(`round ${round} of ${rounds}, ${one.name}: ${Math.round(perSecond)} a second`)
    }
  }
  print(`\n${machine()}; ${CONNECTIONS} connections; median of ${rounds} × ${seconds} s\n\n`)
  for (const { name, rates, bytes } of contestants) {
    print(`${name.padEnd(24)}${median(rates).toFixed(0).padStart(8)} views/s${String(bytes).padStart(8)} bytes\n`)
  }
  print('\n')
  const [limit, landing, message] = contestants
  verdict('landing / limit', median(landing!.rates) / median(limit!.rates), 'at least', 0.3)
  verdict('message / limit', median(message!.rates) / median(limit!.rates), 'at least', 0.2)
  const script = await measureBytes(server, { path: SCRIPT_PATH, headers: PERSON })
  verdict('bytes of a first view', limit!.bytes + landing!.bytes + script, 'at most', 30_000)
}

/** One notification, and the path of its link. */
async function sendOne(workspace: Workspace, server: Server, subject: Subject): Promise<string> {
  const answer = await fetch(`${server.address}/gw/email`, {
    method: 'POST',
    headers: { authorization: subject.token, 'content-type': 'application/json' },
    body: JSON.stringify({
      nameTo: 'Maria da Silva',
      to: 'maria@example.com',
      subject: 'Aviso de vencimento',
      content: '<p>Seu contrato vence em <b>30 dias</b>.</p>'.repeat(50),
    }),
  })
  const { idEmail } = (await answer.json()) as { idEmail: string }
  return `/n/${workspace.linkCode({ notification: idEmail, channel: 'email' })}`
}

async function open(server: Server, link: string): Promise<string> {
  const opened = await fetch(`${server.address}${link}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...PERSON, origin: server.address, 'content-type': 'application/x-www-form-urlencoded' },
    body: '',
  })
  return opened.headers.get('set-cookie')!.split(';')[0]!
}

async function measureBytes(server: Server, { path, headers }: Pick<Contestant, 'path' | 'headers'>): Promise<number> {
  const answer = await fetch(`${server.address}${path}`, { headers })
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}`)
  return (await answer.arrayBuffer()).byteLength
}
