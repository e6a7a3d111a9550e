export const FATE_DOMAIN = 'simulador.test'

/** What the recipient or its server does after accepting a mail. The delivery reports are RFC 3464 actions. */
export type Act =
  | { act: 'delivered' }
  | { act: 'failed' | 'delayed'; status: string; diagnostic: string }
  | { act: 'open' | 'scan' | 'reply' | 'away' | 'complain' | 'confirm' }

interface Step {
  afterMs: number
  act: Act
}

export interface Fate {
  /** The local part of the address. */
  name: string
  meaning: string
  does: string
  /** The final status of the e-mail in the gateway. */
  ends: string
  /** The answer to RCPT, before any content is sent. */
  refusal?: { code: number; text: string }
  /** How many attempts to send the same mail are deferred before it is accepted. */
  deferredAttempts?: number
  answersAfterMs?: number
  /** Accepts the content and never answers. */
  silent?: true
  steps: readonly Step[]
}

export const UNKNOWN_MAILBOX = { status: '5.1.1', diagnostic: '550 5.1.1 Caixa postal inexistente' }
const FULL_FOR_NOW = { status: '4.2.2', diagnostic: '452 4.2.2 Caixa postal cheia, nova tentativa em breve' }
const FULL = { status: '5.2.2', diagnostic: '552 5.2.2 Caixa postal cheia' }

const delivered: Step = { afterMs: 0, act: { act: 'delivered' } }

/** The addresses with a fixed fate. GET /simulator/fates, the page and docs/simulador.md show this table. */
export const FATES: readonly Fate[] = [
  {
    name: 'entregue',
    meaning: 'Caixa que funciona',
    does: 'Aceita a mensagem e avisa a entrega. É também o que acontece com qualquer endereço fora desta lista.',
    ends: 'Entregue',
    steps: [delivered],
  },
  {
    name: 'lido',
    meaning: 'Pessoa que abre a mensagem',
    does: 'Avisa a entrega e, 1 s depois, carrega a imagem de rastreamento como faz um programa de e-mail.',
    ends: 'Lido',
    steps: [delivered, { afterMs: 1_000, act: { act: 'open' } }],
  },
  {
    name: 'devolvido',
    meaning: 'Caixa que não existe, descoberta depois do aceite',
    does: 'Aceita a mensagem e a devolve com o aviso de falha 5.1.1.',
    ends: 'Devolvido',
    steps: [{ afterMs: 0, act: { act: 'failed', ...UNKNOWN_MAILBOX } }],
  },
  {
    name: 'devolvido-depois',
    meaning: 'Entrega que volta atrás',
    does: 'Avisa a entrega e, 2 s depois, devolve a mensagem com o aviso de falha 5.1.1.',
    ends: 'Devolvido',
    steps: [delivered, { afterMs: 2_000, act: { act: 'failed', ...UNKNOWN_MAILBOX } }],
  },
  {
    name: 'recusado',
    meaning: 'Caixa que não existe, recusada na hora',
    does: 'Responde 550 5.1.1 ao destinatário (RCPT TO), antes do conteúdo. A mensagem não aparece na lista.',
    ends: 'Falha no envio',
    refusal: { code: 550, text: 'Caixa postal inexistente' },
    steps: [],
  },
  {
    name: 'temporario',
    meaning: 'Servidor que adia',
    does: 'Responde 451 às duas primeiras tentativas da mesma mensagem (mesmo ENVID ou Message-ID) e aceita a terceira.',
    ends: 'Entregue',
    deferredAttempts: 2,
    steps: [delivered],
  },
  {
    name: 'lento',
    meaning: 'Servidor lento',
    does: 'Leva 3 s para responder ao conteúdo; depois aceita e avisa a entrega.',
    ends: 'Entregue',
    answersAfterMs: 3_000,
    steps: [delivered],
  },
  {
    name: 'cheia',
    meaning: 'Caixa cheia',
    does: 'Aceita a mensagem, avisa o atraso 4.2.2 e, 1 s depois, a devolve com o aviso de falha 5.2.2.',
    ends: 'Devolvido',
    steps: [
      { afterMs: 0, act: { act: 'delayed', ...FULL_FOR_NOW } },
      { afterMs: 1_000, act: { act: 'failed', ...FULL } },
    ],
  },
  {
    name: 'silencio',
    meaning: 'Servidor que emudece',
    does: 'Recebe o conteúdo e nunca responde; a conexão é fechada depois de 5 min. O envio é repetido duas vezes e fica para uma pessoa conferir.',
    ends: 'Em verificação',
    silent: true,
    steps: [],
  },
  {
    name: 'robo',
    meaning: 'Verificador de links',
    does: 'Avisa a entrega e, logo depois, um robô visita a imagem e todos os links do HTML (HEAD e GET). Não é leitura.',
    ends: 'Entregue',
    steps: [delivered, { afterMs: 200, act: { act: 'scan' } }],
  },
  {
    name: 'responde',
    meaning: 'Pessoa que responde',
    does: 'Avisa a entrega e, 1 s depois, responde ao remetente: "Recebido, obrigado."',
    ends: 'Respondido',
    steps: [delivered, { afterMs: 1_000, act: { act: 'reply' } }],
  },
  {
    name: 'reclama',
    meaning: 'Pessoa que marca como spam',
    does: 'Avisa a entrega e, 1 s depois, o provedor manda a reclamação (ARF, RFC 5965).',
    ends: 'Entregue',
    steps: [delivered, { afterMs: 1_000, act: { act: 'complain' } }],
  },
  {
    name: 'ausente',
    meaning: 'Pessoa de férias',
    does: 'Avisa a entrega e, só a mensagens que não se dizem automáticas (RFC 3834), manda o aviso de ausência (Auto-Submitted: auto-replied). As do gateway se dizem automáticas: dele não vem nenhum.',
    ends: 'Entregue',
    steps: [delivered, { afterMs: 500, act: { act: 'away' } }],
  },
  {
    name: 'confirma',
    meaning: 'Programa de e-mail que confirma a leitura',
    does: 'Avisa a entrega e, 1 s depois, manda a confirmação de leitura (MDN, RFC 8098), se a mensagem a pede (`email.receipt` da conta).',
    ends: 'Lido',
    steps: [delivered, { afterMs: 1_000, act: { act: 'confirm' } }],
  },
]

const byName = new Map(FATES.map(fate => [fate.name, fate]))
const ORDINARY = FATES[0]!

export const fateAddress = ({ name }: Fate): string => `${name}@${FATE_DOMAIN}`

/** A subaddress has the fate of its address: lido+pedido-7@simulador.test behaves as lido. */
export function fateOf(address: string): Fate {
  const [local, domain] = address.toLowerCase().split('@')
  if (domain !== FATE_DOMAIN) return ORDINARY
  return byName.get(local!.split('+')[0]!) ?? ORDINARY
}
