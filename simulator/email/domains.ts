import { FATE_DOMAIN } from './fates.js'

export interface DnsAnswer {
  status: 'ok' | 'nxdomain' | 'servfail'
  exchangers: { priority: number; exchange: string }[]
  /** A records: mail for a domain without exchangers goes there (RFC 5321, 5.1). */
  addresses: string[]
}

const nothing = { exchangers: [], addresses: [] }

/** The domains with a defect. Every other domain has one exchanger. */
export const DOMAINS: readonly { name: string; meaning: string; answer: DnsAnswer }[] = [
  { name: 'inexistente.test', meaning: 'Domínio que não existe (NXDOMAIN)', answer: { status: 'nxdomain', ...nothing } },
  {
    name: 'sem-correio.test',
    meaning: 'Domínio que declara não receber e-mail (MX nulo, RFC 7505)',
    answer: { status: 'ok', exchangers: [{ priority: 0, exchange: '.' }], addresses: ['127.0.0.1'] },
  },
  { name: 'sem-mx.test', meaning: 'Domínio sem servidor de e-mail e sem endereço', answer: { status: 'ok', ...nothing } },
  {
    name: 'falha-dns.test',
    meaning: 'Domínio cujo DNS não responde (SERVFAIL): não prova nada, o e-mail segue',
    answer: { status: 'servfail', ...nothing },
  },
]

export function resolveDomain(name: string): DnsAnswer {
  const domain = name.toLowerCase().replace(/\.$/, '')
  const known = DOMAINS.find(({ name }) => domain === name || domain.endsWith(`.${name}`))
  return (
    known?.answer ?? { status: 'ok', exchangers: [{ priority: 10, exchange: `mx.${FATE_DOMAIN}` }], addresses: ['127.0.0.1'] }
  )
}
