export type ReceiptType = 'delivered' | 'enroute' | 'undelivered' | 'expired'

/** What the carrier or the recipient does after the carrier has accepted a message. */
export type Act = { act: ReceiptType } | { act: 'reply'; text: string } | { act: 'open' | 'scan' }

interface Step {
  afterMs: number
  act: Act
}

export interface Fate {
  /** The last two digits of the number. */
  digits: string
  name: string
  meaning: string
  does: string
  /** The carrier refuses the message at once. */
  refusal?: 'number'
  /** How many attempts to send the same message are throttled before it is accepted. */
  throttledAttempts?: number
  answersAfterMs?: number
  /** Accepts the message and never answers. The steps happen anyway. */
  silent?: true
  /** Accepts the message and breaks the connection. */
  breaksConnection?: true
  /** The answer has the carrier's id in hexadecimal and the receipts have it in decimal, as some carriers do. */
  decimalIds?: true
  /** The receipt is sent before the answer. */
  receiptFirst?: true
  steps: readonly Step[]
}

const delivered: Step = { afterMs: 300, act: { act: 'delivered' } }
export const REPLY_TEXT = 'Recebido, obrigado.'
const LONG_REPLY = `Olá! ${'Recebi a notificação e vou conferir os documentos com calma antes de responder. '.repeat(3)}Até breve.`

/** The numbers with a fixed fate, in any area code. GET /simulator/fates, the page and docs/sms.md show this table. */
export const FATES: readonly Fate[] = [
  {
    digits: '01',
    name: 'entregue',
    meaning: 'Celular que funciona',
    does: 'Aceita a mensagem e manda o recibo de entrega. É também o que acontece com qualquer número fora desta lista.',
    steps: [delivered],
  },
  {
    digits: '02',
    name: 'não entregue',
    meaning: 'Número que já não existe',
    does: 'Aceita a mensagem e, em seguida, manda o recibo UNDELIV.',
    steps: [{ afterMs: 300, act: { act: 'undelivered' } }],
  },
  {
    digits: '03',
    name: 'silêncio',
    meaning: 'Operadora que emudece',
    does: 'Recebe a mensagem e nunca responde, nem manda recibo: o envio fica "Em verificação".',
    silent: true,
    steps: [],
  },
  {
    digits: '04',
    name: 'lento',
    meaning: 'Operadora lenta',
    does: 'Leva 3 s para responder; depois aceita e manda o recibo de entrega.',
    answersAfterMs: 3_000,
    steps: [delivered],
  },
  {
    digits: '05',
    name: 'devagar',
    meaning: 'Operadora que pede calma',
    does: 'Responde às duas primeiras tentativas da mesma mensagem que se envie mais devagar (ESME_RTHROTTLED ou 429) e aceita a terceira.',
    throttledAttempts: 2,
    steps: [delivered],
  },
  {
    digits: '06',
    name: 'recusado',
    meaning: 'Número que a operadora recusa',
    does: 'Recusa a mensagem na hora (ESME_RINVDSTADR ou 400). Ela não aparece na lista.',
    refusal: 'number',
    steps: [],
  },
  {
    digits: '07',
    name: 'responde',
    meaning: 'Pessoa que responde',
    does: `Manda o recibo de entrega e, 1 s depois, a resposta "${REPLY_TEXT}"`,
    steps: [delivered, { afterMs: 1_000, act: { act: 'reply', text: REPLY_TEXT } }],
  },
  {
    digits: '08',
    name: 'sai',
    meaning: 'Pessoa que não quer mais SMS',
    does: 'Manda o recibo de entrega e, 1 s depois, responde SAIR: a conta não envia mais SMS a este número.',
    steps: [delivered, { afterMs: 1_000, act: { act: 'reply', text: 'Sair' } }],
  },
  {
    digits: '09',
    name: 'abre o link',
    meaning: 'Pessoa que abre o link',
    does: 'Manda o recibo de entrega e, em seguida, abre o link da mensagem e aperta o botão que abre a notificação.',
    steps: [delivered, { afterMs: 1_500, act: { act: 'open' } }],
  },
  {
    digits: '10',
    name: 'expira',
    meaning: 'Celular desligado',
    does: 'Avisa que a mensagem está a caminho e, 1 s depois, que a validade acabou (EXPIRED).',
    steps: [
      { afterMs: 0, act: { act: 'enroute' } },
      { afterMs: 1_000, act: { act: 'expired' } },
    ],
  },
  {
    digits: '11',
    name: 'sem recibo',
    meaning: 'Operadora que não manda recibos',
    does: 'Aceita a mensagem e nunca mais fala dela: o SMS fica "Enviado".',
    steps: [],
  },
  {
    digits: '12',
    name: 'responde longo',
    meaning: 'Pessoa que escreve muito',
    does: 'Manda o recibo de entrega e, 1 s depois, uma resposta com acentos que viaja em partes.',
    steps: [delivered, { afterMs: 1_000, act: { act: 'reply', text: LONG_REPLY } }],
  },
  {
    digits: '13',
    name: 'queda',
    meaning: 'Conexão que cai depois do aceite',
    does: 'Guarda a mensagem e derruba a conexão sem responder; 1 s depois o recibo de entrega chega assim mesmo e resolve a dúvida.',
    breaksConnection: true,
    steps: [{ afterMs: 1_000, act: { act: 'delivered' } }],
  },
  {
    digits: '14',
    name: 'apressado',
    meaning: 'Recibo mais rápido que a resposta',
    does: 'Manda o recibo de entrega antes de responder ao envio.',
    receiptFirst: true,
    answersAfterMs: 300,
    steps: [{ afterMs: 0, act: { act: 'delivered' } }],
  },
  {
    digits: '15',
    name: 'decimal',
    meaning: 'Operadora de dois alfabetos',
    does: 'Responde ao envio com o identificador em hexadecimal e o escreve em decimal no recibo de entrega.',
    decimalIds: true,
    steps: [delivered],
  },
  {
    digits: '16',
    name: 'robô',
    meaning: 'Verificador de links',
    does: 'Manda o recibo de entrega e, em seguida, um robô visita o link (GET e HEAD). Não é leitura.',
    steps: [delivered, { afterMs: 500, act: { act: 'scan' } }],
  },
  {
    digits: '17',
    name: 'liga depois',
    meaning: 'Celular desligado, e a resposta se perde',
    does: 'Guarda a mensagem e derruba a conexão sem responder; avisa que ela está a caminho, se o aviso intermediário foi pedido, e a entrega 3 s depois.',
    breaksConnection: true,
    steps: [
      { afterMs: 500, act: { act: 'enroute' } },
      { afterMs: 3_000, act: { act: 'delivered' } },
    ],
  },
]

const byDigits = new Map(FATES.map(fate => [fate.digits, fate]))
const ORDINARY = FATES[0]!

export const fateNumber = ({ digits }: Fate): string => `119000000${digits}`

export function fateOf(number: string): Fate {
  const digits = /^\+?55\d\d9000000(\d\d)$/.exec(number)?.[1]
  return (digits === undefined ? undefined : byDigits.get(digits)) ?? ORDINARY
}
