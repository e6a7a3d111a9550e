import type { RuntimeContext, SetupCheck } from '../channel-runtime.js'
import type { EmailConfig } from './channel.js'
import { listDkimKeys } from './dkim/key-store.js'
import { requireDkimKey } from './dkim/keys.js'
import { type DnsRecord, dkimRecord, publishes, readKeyFile } from './dkim/signing-key.js'
import { isNullExchanger, type Lookup, type MailResolver, systemResolver, textResolver } from './resolver.js'

/** Replaced in tests. */
export interface DnsOptions {
  resolver?: MailResolver
  texts?: (name: string) => Promise<Lookup<string>>
}

type Answer = Omit<SetupCheck, 'name' | 'subject' | 'record'>

/** Sender domains that are looked at: an installation has a few, and each costs a few lookups. */
const MAX_DOMAINS = 50
const SILENT: Answer = { state: 'unknown', found: [], expected: null, advice: 'O DNS não respondeu. Tente de novo em instantes.' }

/** Asks the DNS what receivers will ask it: SPF and MX of the bounce domain, DKIM and DMARC of each sender's domain. */
export async function checkMailDomains(
  context: RuntimeContext<EmailConfig>,
  senders: readonly string[],
  options: DnsOptions,
): Promise<SetupCheck[]> {
  const { config } = context
  const { resolver = systemResolver(), texts = textResolver(null) } = options
  const domains = [...new Set([config.from, ...senders].filter(address => address !== '').map(domainOf))].slice(0, MAX_DOMAINS)
  const bounce = config.bounceDomain
  const keyOf = await keyFinder(context)
  const checks: Promise<SetupCheck>[] = [
    about('SPF', bounce, bounce, async () => readSpf(await texts(bounce))),
    about('MX', bounce, bounce, () => checkExchangers(bounce, resolver)),
    ...domains.flatMap(domain => {
      const key = keyOf(domain)
      return [
        about('DKIM', domain, key?.name ?? null, () => checkKey(domain, key, texts)),
        about('DMARC', domain, `_dmarc.${domain}`, () => checkDmarc(domain, texts)),
      ]
    }),
  ]
  return Promise.all(checks)
}

const about = async (name: string, subject: string, record: string | null, ask: () => Promise<Answer>): Promise<SetupCheck> => ({
  name,
  subject,
  record,
  ...(await ask()),
})

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).toLowerCase()

/** Receivers check the SPF of the envelope's sender, which is an address of the bounce domain. */
function readSpf(answer: Lookup<string>): Answer {
  if (answer.status === 'unknown') return SILENT
  const found = answer.status === 'ok' ? answer.records.filter(text => /^v=spf1(\s|$)/i.test(text)) : []
  const expected = 'v=spf1 include:DOMÍNIO_DA_SUA_OPERADORA -all'
  const say = (state: Answer['state'], advice: string): Answer => ({
    state,
    found,
    expected: state === 'good' ? null : expected,
    advice,
  })
  if (found.length === 0)
    return say('bad', 'Não há SPF. Publique um registro TXT que autorize os servidores por onde os e-mails saem.')
  // RFC 7208, 4.5: with two records the result is an error, and nobody is authorised.
  if (found.length > 1) return say('bad', 'Há mais de um SPF: os servidores ignoram todos. Deixe um só.')
  const [record] = found
  if (/\s\+?all(\s|$)/i.test(record!)) return say('bad', 'O SPF autoriza qualquer servidor (all). Troque por -all ou ~all.')
  if (!/\s[-~]all(\s|$)|\sredirect=/i.test(record!))
    return say('warn', 'O SPF não diz o que fazer com os demais. Termine-o com -all ou ~all.')
  return say('good', 'Publicado. Confira se inclui a operadora de e-mail.')
}

/** Bounces and answers go there. */
async function checkExchangers(domain: string, resolver: MailResolver): Promise<Answer> {
  const answer = await resolver.exchangers(domain)
  if (answer.status === 'unknown') return SILENT
  const records = answer.status === 'ok' ? answer.records : []
  const found = records.map(({ priority, exchange }) => `${priority} ${exchange}`)
  const say = (state: Answer['state'], advice: string): Answer => ({ state, found, expected: null, advice })
  if (records.length === 0)
    return say(
      'bad',
      'Não há MX: devoluções e respostas se perdem. Aponte-o para este servidor (INBOUND_SMTP_PORT, na porta 25).',
    )
  if (isNullExchanger(records)) return say('bad', 'O MX diz que o domínio não recebe e-mail. Aponte-o para este servidor.')
  const reached = await Promise.all(records.map(({ exchange }) => resolver.addresses(exchange)))
  if (reached.some(({ status }) => status === 'unknown')) return SILENT
  const without = records.filter((_, place) => !hasRecords(reached[place]!)).map(({ exchange }) => exchange)
  return without.length === 0
    ? say('good', 'Devoluções e respostas chegam a este endereço.')
    : say('bad', `O nome ${without.join(', ')} não tem endereço. Publique um registro A ou AAAA para ele.`)
}

const hasRecords = (answer: Lookup<string>): boolean => answer.status === 'ok' && answer.records.length > 0

type FoundKey = DnsRecord & { domain: string }

/** The key that signs for a sender's domain: its own, its nearest parent's, or the installation's. */
async function keyFinder({ config, keys, pool }: RuntimeContext<EmailConfig>): Promise<(domain: string) => FoundKey | null> {
  const signing = (await listDkimKeys(pool)).filter(({ signs }) => signs)
  const stored = await Promise.all(
    signing.map(async key => ({ domain: key.domain, ...(await requireDkimKey(pool, keys.sealing, key)).record })),
  )
  const own: FoundKey | null =
    config.dkim === null
      ? null
      : { domain: config.dkim.domain, ...dkimRecord(readKeyFile(config.dkim, `Não foi possível ler ${config.dkim.keyFile}.`)) }
  return domain => {
    for (const parent of withParents(domain)) {
      const found = stored.find(key => key.domain === parent) ?? (own?.domain === parent ? own : null)
      if (found !== null) return found
    }
    return own
  }
}

/** example.com.br, then com.br. */
const withParents = (domain: string): string[] => {
  const labels = domain.split('.')
  return labels.slice(0, -1).map((_, start) => labels.slice(start).join('.'))
}

async function checkKey(domain: string, key: FoundKey | null, texts: NonNullable<DnsOptions['texts']>): Promise<Answer> {
  if (key === null) {
    const advice = `Os e-mails saem sem assinatura. Crie uma chave com: carteiro dkim create ${domain}`
    return { state: 'bad', found: [], expected: null, advice }
  }
  const answer = await texts(key.name)
  if (answer.status === 'unknown') return SILENT
  const found = answer.status === 'ok' ? answer.records : []
  const isPublished = found.length === 1 && publishes(found[0]!, key)
  const say = (state: Answer['state'], advice: string): Answer => ({
    state,
    found,
    expected: state === 'bad' ? key.value : null,
    advice,
  })
  if (!isPublished)
    return say(
      'bad',
      found.length === 0
        ? 'Falta o registro da chave que assina. Publique-o.'
        : 'O registro não é o da chave que assina. Troque-o.',
    )
  return withParents(domain).includes(key.domain)
    ? say('good', 'A chave que assina está publicada.')
    : say(
        'warn',
        `Assina a chave de ${key.domain}, que o DMARC não alinha com ${domain}. Crie uma com: carteiro dkim create ${domain}`,
      )
}

/** The record of the domain, or of the organisation above it (RFC 7489, 6.6.3). */
async function checkDmarc(domain: string, texts: NonNullable<DnsOptions['texts']>): Promise<Answer> {
  for (const parent of withParents(domain)) {
    const answer = await texts(`_dmarc.${parent}`)
    if (answer.status === 'unknown') return SILENT
    const found = answer.status === 'ok' ? answer.records.filter(text => /^v=DMARC1\s*(;|$)/.test(text)) : []
    if (found.length > 1)
      return { state: 'bad', found, expected: null, advice: 'Há mais de um DMARC: os servidores ignoram todos. Deixe um só.' }
    if (found.length === 0) continue
    const policy = /;\s*p\s*=\s*(\w+)/i.exec(found[0]!)?.[1]?.toLowerCase()
    return policy === 'quarantine' || policy === 'reject'
      ? { state: 'good', found, expected: null, advice: 'Publicado: ninguém mais envia em nome do domínio.' }
      : {
          state: 'warn',
          found,
          expected: null,
          advice: 'O DMARC só observa (p=none). Quando SPF e DKIM estiverem bem, mude para p=quarantine.',
        }
  }
  const expected = `v=DMARC1; p=none; rua=mailto:dmarc@${domain}`
  return {
    state: 'bad',
    found: [],
    expected,
    advice: 'Não há DMARC: grandes servidores recusam ou marcam como spam. Publique-o.',
  }
}
