import { moduleOf } from '../../../src/channels/registry.js'
import { completeSettings } from '../../../src/domain/account.js'
import { newStatus } from '../../../src/domain/delivery/status.js'
import { applyFact, type Fact, type FactType } from '../../../src/domain/delivery/transition.js'
import type { Json } from '../../../src/domain/evidence/canonical-json.js'
import { chainEvent, GENESIS, sha256 } from '../../../src/domain/evidence/evidence.js'
import type { ShownContent } from '../../../src/evidence/documents/report.js'
import type { LogProof } from '../../../src/evidence/log-proof.js'
import type { Dossier } from '../../../src/store/evidence/dossier.js'

/** Notifications to make documents of: delivered on five channels, failed on all, and on its way. */
export const ID = '019a8f2e-77aa-7c3e-9d12-0123456789ab'
const START = Date.UTC(2026, 10, 15, 14)
const SENDER_ADDRESS = '203.0.113.7'
const BROWSER =
  'Mozilla/5.0 (Linux; Android 15; SM-A556E) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36'
/** The secret of a recipient's link, which no document may have. */
export const SECRET = 'AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq'
const CONTENT = `<h2>Notificação extrajudicial</h2><p>Prezada <b>Maria da Conceição</b>,</p>
<p>Notificamos que a parcela 7 do contrato nº 4711, de R$ 1.234,56, venceu em 10/11/2026 e não foi paga. Solicitamos o pagamento em até
15 dias, sob pena de <i>vencimento antecipado</i> da dívida.</p><table><tr><th>Parcela</th><th>Vencimento</th><th>Valor</th></tr>
<tr><td>7</td><td>10/11/2026</td><td>R$ 1.234,56</td></tr><tr><td>8</td><td>10/12/2026</td><td>R$ 1.234,56</td></tr></table>
<p>Se já pagou, desconsidere este aviso.</p>`

const recipients: Record<string, string> = {
  email: 'maria.conceicao@example.com',
  sms: '+5511987654321',
  whatsapp: '+5511987654321',
  voice: '+5511987654321',
  letter: 'Maria da Conceição',
}
const CHANNELS = Object.keys(recipients)

const smtp = {
  server: 'mx1.example.com',
  address: '198.51.100.25',
  port: 25,
  tls: {
    version: 'TLSv1.3',
    cipher: 'TLS_AES_256_GCM_SHA384',
    verified: true,
    certificate: {
      subject: 'CN=mx1.example.com',
      issuer: "CN=R11, O=Let's Encrypt, C=US",
      names: 'DNS:mx1.example.com',
      sha256: 'ab'.repeat(32),
      validFrom: '2026-10-01T00:00:00.000Z',
      validTo: '2026-12-30T00:00:00.000Z',
    },
  },
  startedAt: '2026-11-15T14:00:01.200Z',
  steps: [
    { command: 'connect', reply: '220 mx1.example.com ESMTP' },
    { command: 'STARTTLS', reply: '220 2.0.0 Ready to start TLS' },
    { command: 'MAIL FROM', reply: '250 2.1.0 Ok', ms: 12 },
    { command: 'RCPT TO', reply: '250 2.1.5 Ok', ms: 31 },
    { command: 'DATA', reply: '354 End data with <CR><LF>.<CR><LF>', ms: 44 },
    { command: 'end of data', reply: '250 2.0.0 Ok: queued as 4XyZ1A2B3C', ms: 187 },
  ],
}
const mx = 'mx:mx1.example.com/1f0c2a9b'
const smpp = 'smpp:smsc.example.com/9b1f0c2a'
const cloud = 'whatsapp-cloud:graph.facebook.com/c2a9b1f0'
const twilio = 'twilio:api.twilio.com/0c2a9b1f'
const print = 'print-shop:grafica.example.com/a9b1f0c2'
const visit = (by: string, more: Record<string, Json> = {}) => ({
  by,
  address: '198.51.100.77',
  userAgent: BROWSER,
  signals: [],
  ...more,
})

type Told = [seconds: number, channel: string, type: FactType, source: string, data: Record<string, Json>]

const delivered: Told[] = [
  [
    1,
    'email',
    'sent',
    mx,
    { carrier: mx, reference: `${ID}.email.1`, attempt: 1, answer: '250 2.0.0 Ok: queued as 4XyZ1A2B3C', smtp },
  ],
  [
    1,
    'email',
    'delivered',
    mx,
    { carrier: mx, reference: `${ID}.email.1`, attempt: 1, answer: '250 2.0.0 Ok: queued as 4XyZ1A2B3C' },
  ],
  [
    2,
    'sms',
    'retried',
    smpp,
    { carrier: smpp, attempt: 1, reason: 'A operadora pediu para esperar.', answer: 'ESME_RTHROTTLED (0x58)', delayMs: 4000 },
  ],
  [
    2,
    'email',
    'note',
    'recipient',
    visit('landing', {
      userAgent: 'Barracuda Sentinel (EE)',
      signals: ['scanner', 'too soon'],
      automated: true,
      address: '192.0.2.55',
    }),
  ],
  [7, 'sms', 'sent', smpp, { carrier: smpp, reference: `${ID}.sms.1`, attempt: 2, answer: '1a2b3c4d', segments: 1 }],
  [
    9,
    'whatsapp',
    'sent',
    cloud,
    {
      carrier: cloud,
      reference: `${ID}.whatsapp.1`,
      attempt: 1,
      answer: '{"messages":[{"id":"wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjA5QTJGN0Y2QzE1QkE3RkQ5QQA="}]}',
    },
  ],
  [
    11,
    'sms',
    'delivered',
    `report:${smpp}`,
    {
      carrier: smpp,
      ordinal: 1,
      answer: 'id:1a2b3c4d sub:001 dlvrd:001 submit date:2611151100 done date:2611151100 stat:DELIVRD err:000',
    },
  ],
  [12, 'whatsapp', 'delivered', `report:${cloud}`, { carrier: cloud, ordinal: 1, answer: 'delivered', signed: true }],
  [
    20,
    'voice',
    'sent',
    twilio,
    { carrier: twilio, reference: `${ID}.voice.1`, attempt: 1, answer: 'CA0123456789abcdef0123456789abcdef' },
  ],
  [40, 'voice', 'again', `report:${twilio}`, { carrier: twilio, ordinal: 1, answer: 'busy', signed: true, reason: 'Ocupado' }],
  [
    900,
    'voice',
    'sent',
    twilio,
    { carrier: twilio, reference: `${ID}.voice.2`, attempt: 2, answer: 'CAfedcba9876543210fedcba9876543210' },
  ],
  [960, 'voice', 'delivered', `report:${twilio}`, { carrier: twilio, ordinal: 2, answer: 'completed, 48 s', signed: true }],
  [
    965,
    'voice',
    'recorded',
    'recording',
    { carrier: twilio, recording: 'cd'.repeat(32), size: 768_044, seconds: 48, ordinal: 2 },
  ],
  [
    1_000,
    'letter',
    'processed',
    print,
    { carrier: print, reference: `${ID}.letter.1`, attempt: 1, answer: '{"status":"queued","id":"L-778899"}' },
  ],
  [3_000, 'email', 'read', 'recipient', visit('image')],
  [3_060, 'email', 'note', 'recipient', visit('landing')],
  [3_063, 'email', 'note', 'recipient', visit('open')],
  [3_090, 'email', 'note', 'recipient', visit('reply', { right: false, try: 1 })],
  [3_120, 'whatsapp', 'link opened', 'recipient', visit('reply')],
  [3_120, 'whatsapp', 'read', 'recipient', visit('reply')],
  [3_180, 'whatsapp', 'confirmed', 'recipient', visit('confirm')],
  [
    3_600,
    'whatsapp',
    'answered',
    cloud,
    { answer: `Recebi, vou pagar amanhã. Vi em https://notifica.example.com/s/${SECRET.slice(0, 10)}`, answerId: 'wamid.X' },
  ],
  [
    4_000,
    'email',
    'note',
    'report:reply',
    { reply: 'Podem confirmar que ela leu?', from: 'cobranca@banco.example', claimed: 'answered', because: 'another recipient' },
  ],
  [90_000, 'letter', 'prepared', `report:${print}`, { carrier: print, ordinal: 1, answer: 'printed', signed: true }],
  [
    100_000,
    'letter',
    'sent',
    `report:${print}`,
    { carrier: print, ordinal: 1, answer: 'posted', signed: true, trackingCode: 'AA123456785BR' },
  ],
  [
    260_000,
    'letter',
    'note',
    'report:correios',
    {
      carrier: 'correios',
      answer: 'Objeto em trânsito - por favor aguarde, de CTE São Paulo para CDD Centro',
      trackingCode: 'AA123456785BR',
    },
  ],
  [
    350_000,
    'letter',
    'delivered',
    'report:correios',
    { carrier: 'correios', answer: 'Objeto entregue ao destinatário', trackingCode: 'AA123456785BR' },
  ],
  [351_000, 'letter', 'note', 'recipient', visit('landing', { address: SENDER_ADDRESS, fromSender: true })],
]

const failed: Told[] = [
  [
    1,
    'email',
    'sent',
    mx,
    { carrier: mx, reference: `${ID}.email.1`, attempt: 1, answer: '250 2.0.0 Ok', smtp: { ...smtp, tls: null } },
  ],
  [
    30,
    'email',
    'failed',
    'report:dsn',
    {
      status: '5.1.1',
      diagnostic: 'smtp; 550 5.1.1 <maria.conceicao@example.com>: Recipient address rejected: User unknown',
      finalRecipient: recipients.email!,
      failure: 'bounced',
      failureDetail: 'A caixa de e-mail não existe.',
      ordinal: 1,
    },
  ],
  [
    40,
    'sms',
    'failed',
    smpp,
    {
      carrier: smpp,
      attempt: 1,
      answer: 'ESME_RINVDSTADR (0x0B)',
      reason: 'O número é inválido.',
      failure: 'rejected',
      failureDetail: 'O número é inválido.',
    },
  ],
  [50, 'whatsapp', 'sent', cloud, { carrier: cloud, attempt: 1, answer: '{"messages":[{"id":"wamid.A"}]}' }],
  [
    55,
    'whatsapp',
    'failed',
    `report:${cloud}`,
    {
      carrier: cloud,
      ordinal: 1,
      signed: true,
      answer: '131026 Message undeliverable',
      failure: 'undelivered',
      failureDetail: 'O número não tem WhatsApp.',
      reason: 'O número não tem WhatsApp.',
    },
  ],
  [
    60,
    'voice',
    'retried',
    'engine',
    { carrier: twilio, attempt: 1, reason: 'O processo que enviava parou.', interrupted: true, delayMs: 0 },
  ],
  [90, 'voice', 'sent', twilio, { carrier: twilio, attempt: 2, answer: 'CA0123' }],
  [
    150,
    'voice',
    'failed',
    `report:${twilio}`,
    { carrier: twilio, ordinal: 1, signed: true, answer: 'no-answer', failure: 'no-answer', failureDetail: 'Ninguém atendeu.' },
  ],
  [200, 'letter', 'processed', print, { carrier: print, attempt: 1, answer: '{"status":"queued"}' }],
  [
    100_000,
    'letter',
    'sent',
    `report:${print}`,
    { carrier: print, ordinal: 1, signed: true, answer: 'posted', trackingCode: 'AA123456785BR' },
  ],
  [
    400_000,
    'letter',
    'failed',
    'report:correios',
    {
      carrier: 'correios',
      answer: 'Objeto não entregue - endereço incorreto',
      failure: 'returned',
      failureDetail: 'endereço incorreto',
      reason: 'endereço incorreto',
      trackingCode: 'AA123456785BR',
    },
  ],
]

const open: Told[] = [
  [
    1,
    'email',
    'retried',
    mx,
    {
      carrier: mx,
      attempt: 1,
      reason: 'O servidor de destino pediu para tentar mais tarde.',
      answer: '451 4.7.1 Greylisting in action, please come back later',
      delayMs: 60_000,
      smtp: { ...smtp, steps: smtp.steps.slice(0, 3) },
    },
  ],
  [65, 'email', 'sent', mx, { carrier: mx, attempt: 2, answer: '250 2.0.0 Ok: queued as 9AbC', smtp }],
  [
    70,
    'whatsapp',
    'uncertain',
    cloud,
    {
      carrier: cloud,
      attempt: 1,
      reason: 'A conexão caiu antes da resposta.',
      answer: 'uncertain: A conexão caiu antes da resposta.',
    },
  ],
]

const settings = completeSettings({
  'brand.name': 'Banco Exemplo',
  'brand.color': '#0b4f6c',
  'sender.legalName': 'Banco Exemplo S.A.',
  'sender.document': '11222333000181',
  'sender.phone': '0800 123 4567',
  'sender.site': 'https://www.exemplo.com.br',
  'sender.privacy': 'dados@exemplo.com.br',
})

function makeDossier(told: readonly Told[], more: Partial<Dossier> = {}): Dossier {
  const acceptedAt = new Date(START)
  const attachments = [
    { name: 'contrato-4711.pdf', sha256: 'ef'.repeat(32), size: 182_044 },
    { name: 'boleto.pdf', sha256: '0a'.repeat(32), size: 40_112 },
  ]
  const planned = CHANNELS.map(channel => ({
    channel,
    recipient: recipients[channel]!,
    state: 'queued',
    waitMs: 0,
    step: 1,
    condition: 'always',
  }))
  const accepted = {
    account: 'a',
    mode: 'live',
    token: 't',
    address: SENDER_ADDRESS,
    customId: 'contrato-4711',
    recipientName: 'Maria da Conceição',
    subject: 'Notificação extrajudicial: contrato 4711',
    contentSha256: sha256(CONTENT),
    attachments,
    deliveries: planned,
  }
  const deliveries = CHANNELS.map(channel => ({
    ...newStatus(channel, 'queued', acceptedAt),
    notification: ID,
    customId: 'contrato-4711',
    unknownSince: null as Date | null,
    recipient: recipients[channel]!,
  }))
  const events: Dossier['events'] = []
  const append = (seconds: number, type: string, source: string, data: Json): void => {
    const at = new Date(START + seconds * 1_000).toISOString()
    const prev = events.at(-1)?.hash ?? GENESIS
    events.push(
      chainEvent({
        notification: ID,
        seq: events.length + 1,
        at,
        type,
        source,
        data,
        salt: Buffer.alloc(16, events.length),
        prev,
      }),
    )
  }
  append(0, 'accepted', 'api', accepted)
  for (const [seconds, channel, type, source, data] of told) {
    append(seconds, type, source, { channel, ...data })
    const place = deliveries.findIndex(delivery => delivery.channel === channel)
    const at = new Date(START + seconds * 1_000)
    const next = applyFact(deliveries[place]!, { channel, type, at, source, data } as Fact, moduleOf(channel))
    if (next !== null)
      deliveries[place] = { ...deliveries[place]!, ...next, unknownSince: next.state === 'uncertain' ? at : null }
  }
  return {
    id: ID,
    code: 4_711,
    mode: 'live',
    acceptedAt,
    customId: 'contrato-4711',
    recipientName: 'Maria da Conceição',
    subject: 'Notificação extrajudicial: contrato 4711',
    content: CONTENT,
    question: 'Quais são os três últimos dígitos do seu CPF?',
    sender: { name: 'banco', settings, logo: null },
    deliveries,
    attachments,
    events,
    ...more,
  }
}

export const dossiers = {
  full: (more: Partial<Dossier> = {}) => makeDossier(delivered, more),
  failed: (more: Partial<Dossier> = {}) => makeDossier(failed, more),
  open: (more: Partial<Dossier> = {}) => makeDossier(open, more),
  accepted: (more: Partial<Dossier> = {}) => makeDossier([], more),
  simulated: () => makeDossier([[1, 'sms', 'sent', 'simulator/smpp', { carrier: 'simulator/smpp', attempt: 1, answer: 'ok' }]]),
}

export const logProof = (count: number): LogProof => ({
  checkpoint: {
    size: 1_048_577,
    witnesses: [],
    at: new Date(START + 5_000),
    note: `notifica.example.com/carteiro/1a2b3c4d\n1048577\n${Buffer.alloc(32, 9).toString('base64')}\ntime 2026-11-15T14:00:05.000Z\n\n— notifica.example.com/carteiro/1a2b3c4d ${Buffer.alloc(68, 3).toString('base64')}\n`,
    timeStamps: [
      { authority: 'CN=Autoridade de Carimbo do Tempo, O=Exemplo', at: new Date(START + 9_000), token: Buffer.from('token') },
    ],
  },
  events: Array.from({ length: count }, (_, place) => ({
    seq: place + 1,
    leaf: 1_000_000 + 7 * place,
    path: Array.from({ length: 20 }, (_x, height) => sha256(`${place} ${height}`)),
  })),
})

const rawMessage = `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=exemplo.com.br; s=carteiro; t=1794751201;\r\n h=From:To:Subject:Date:Message-ID:MIME-Version; bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n b=${'Zm9vYmFyYmF6cXV4'.repeat(8)}\r\nFrom: Banco Exemplo <notificacao@exemplo.com.br>\r\nTo: maria.conceicao@example.com\r\nSubject: =?utf-8?Q?Notifica=C3=A7=C3=A3o_extrajudicial?=\r\nDate: Sun, 15 Nov 2026 14:00:01 +0000\r\nMessage-ID: <${ID}.email.1@exemplo.com.br>\r\nMIME-Version: 1.0\r\n\r\ncorpo https://notifica.example.com/n/${SECRET}`

export const contents: ShownContent[] = [
  {
    seq: 2,
    channel: 'email',
    ordinal: 1,
    contentType: 'message/rfc822',
    sha256: sha256(rawMessage),
    size: rawMessage.length,
    bytes: Buffer.from(rawMessage),
  },
  {
    seq: 3,
    channel: 'sms',
    ordinal: 1,
    contentType: 'text/plain; charset=utf-8',
    sha256: sha256('sms'),
    size: 88,
    bytes: Buffer.from(`Maria, aviso sobre o contrato 4711: https://notifica.example.com/s/${SECRET.slice(0, 10)}`),
  },
  {
    seq: 4,
    channel: 'letter',
    ordinal: 1,
    contentType: 'application/pdf',
    sha256: sha256('carta'),
    size: 34_221,
    bytes: Buffer.from('%PDF-1.7'),
  },
]

export const certificate = {
  subject: 'CN=Carteiro notifica.example.com',
  issuer: 'CN=Carteiro notifica.example.com',
  validFrom: new Date(START),
  validTo: new Date(START + 10 * 365 * 86_400_000),
  sha256: 'fe'.repeat(32),
  selfMade: true,
  icpBrasil: false,
  description: 'certificado de teste',
}
export const verification = { url: 'https://notifica.example.com/verificar/7k3m9q2x4zab12cd', code: '7K3M-9Q2X-4ZAB-12CD' }
