import { newId } from '../domain/id.js'
import type { Keys } from '../domain/keys.js'
import type { Channel, JsonObject } from '../domain/notification.js'
import { signToken, type TokenClaims } from '../domain/token.js'
import { insertAccount } from '../store/accounts.js'
import { addRange } from '../store/address-ranges.js'
import { type Pool, transaction } from '../store/postgres.js'
import { insertTemplate } from '../store/templates.js'
import { findTokenByLabel, insertToken } from '../store/tokens.js'

/** What a first start needs to be tried at once: an account, its token, a template for every channel. Simulator only. */
const LABEL = 'demo'
const RANGES = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']

const templates: { channel: Channel; name: string; content: string; variables: string[]; metadata?: JsonObject }[] = [
  {
    channel: 'email',
    name: 'aviso-vencimento',
    content: '<p>Olá, {{ nome }}.</p><p>O contrato <b>{{ contrato }}</b> vence em {{ vencimento }}.</p>',
    variables: ['nome', 'contrato', 'vencimento'],
  },
  {
    channel: 'sms',
    name: 'aviso-curto',
    content: '{{ nome }}, ha uma notificacao para voce: {SHORT_LINK}',
    variables: ['nome'],
  },
  {
    channel: 'whatsapp',
    name: 'notificacao_contrato',
    content: 'Olá, {{ nome }}. Há uma notificação sobre o contrato {{ contrato }}.',
    variables: ['nome', 'contrato'],
    metadata: { botaoLink: 0 },
  },
  {
    channel: 'letter',
    name: 'notificacao-extrajudicial',
    content:
      '<p>Prezado(a) {{ nome }},</p><p>Notificamos que o contrato {{ contrato }} está em aberto desde {{ vencimento }}.</p>',
    variables: ['nome', 'contrato', 'vencimento'],
  },
  {
    channel: 'voice',
    name: 'ligacao-lembrete',
    content: 'Olá, {{ nome }}. Esta é uma mensagem sobre o seu contrato {{ contrato }}.',
    variables: ['nome', 'contrato'],
  },
]

export async function createDemo(pool: Pool): Promise<void> {
  await transaction(pool, async db => {
    const now = Date.now()
    const account = newId(now)
    const made = await insertAccount(db, {
      id: account,
      name: 'demo',
      entityId: newId(now),
      entityName: 'Demonstração',
      settings: { validation: true, 'email.receipt': true },
    })
    if (!made) return
    for (const range of RANGES) await addRange(db, account, range)
    // Whole seconds: the token is made again from this row at every start, and JWT counts seconds.
    const issuedAt = new Date(Math.floor(now / 1000) * 1000)
    await insertToken(db, { jti: newId(now), account, mode: 'live', issuedAt, expiresAt: null }, LABEL)
    for (const { channel, name, content, variables, metadata = {} } of templates) {
      await insertTemplate(db, {
        id: newId(now),
        account,
        externalId: null,
        name,
        channel,
        content,
        variables: variables.map(variable => ({ name: variable, required: true })),
        shared: false,
        metadata,
      })
    }
  })
}

/** The demo account's token, the same at every start; null where there is none. */
export async function demoToken(pool: Pool, keys: Keys): Promise<string | null> {
  const claims: TokenClaims | null = await findTokenByLabel(pool, LABEL)
  return claims && signToken(keys.tokenSigning, claims)
}
