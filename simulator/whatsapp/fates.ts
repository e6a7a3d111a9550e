/** What the carrier or the recipient does after the carrier has accepted a message. */
export type Act =
  | { act: 'sent' | 'delivered' | 'read' }
  | { act: 'failed'; code: number }
  /** A quoting reply names the message that it answers. */
  | { act: 'reply'; quoting: boolean }
  | { act: 'button' | 'open' | 'scan' }

interface Step {
  afterMs: number
  act: Act
}

export interface Fate {
  name: string
  /** The last two digits of the number. */
  ending: string
  meaning: string
  does: string
  /** The carrier refuses with this error: every attempt, or only the first attempts to send the same message. */
  refusal?: { code: number; attempts?: number }
  answersAfterMs?: number
  /** Accepts the message and never answers. */
  silent?: true
  steps: readonly Step[]
}

const sent: Step = { afterMs: 0, act: { act: 'sent' } }
const delivered: Step = { afterMs: 200, act: { act: 'delivered' } }
const read: Step = { afterMs: 1_000, act: { act: 'read' } }
const arrives = [sent, delivered]
const failed = (code: number): Step[] => [sent, { afterMs: 200, act: { act: 'failed', code } }]

/** The fate of every other number. */
const ORDINARY: Fate = {
  name: 'comum',
  ending: '',
  meaning: 'Pessoa comum',
  does: 'Recebe e, 2 s depois, lê.',
  steps: [sent, delivered, { afterMs: 2_000, act: { act: 'read' } }],
}

/** The numbers with a fixed fate. GET /simulator/fates, the page and docs/whatsapp.md show this table. */
export const FATES: readonly Fate[] = [
  { name: 'entregue', ending: '01', meaning: 'Aparelho ligado', does: 'Recebe a mensagem e não a abre.', steps: arrives },
  { name: 'lido', ending: '02', meaning: 'Pessoa que lê', does: 'Recebe e, 1 s depois, lê.', steps: [...arrives, read] },
  {
    name: 'so-lido',
    ending: '03',
    meaning: 'Leitura sem aviso de entrega',
    does: 'A operadora avisa só a leitura: a entrega está contida nela.',
    steps: [sent, { afterMs: 300, act: { act: 'read' } }],
  },
  {
    name: 'responde',
    ending: '04',
    meaning: 'Pessoa que responde',
    does: 'Lê e, 1 s depois, responde citando a mensagem: "Recebido, obrigado."',
    steps: [...arrives, read, { afterMs: 2_000, act: { act: 'reply', quoting: true } }],
  },
  {
    name: 'responde-solto',
    ending: '05',
    meaning: 'Pessoa que responde sem citar',
    does: 'Como a anterior, sem dizer a que mensagem responde: vale a mais nova para o número.',
    steps: [...arrives, read, { afterMs: 2_000, act: { act: 'reply', quoting: false } }],
  },
  {
    name: 'toca-botao',
    ending: '06',
    meaning: 'Pessoa que toca no botão de resposta',
    does: 'Lê e, 1 s depois, toca no botão "Confirmo".',
    steps: [...arrives, read, { afterMs: 2_000, act: { act: 'button' } }],
  },
  {
    name: 'abre-link',
    ending: '07',
    meaning: 'Pessoa que abre o link',
    does: 'Lê, abre o link no navegador e aperta o botão da página.',
    steps: [...arrives, read, { afterMs: 1_500, act: { act: 'open' } }],
  },
  {
    name: 'robo',
    ending: '08',
    meaning: 'Prévia de link',
    does: 'Recebe, e um robô visita o link para montar a prévia. Não é acesso.',
    steps: [...arrives, { afterMs: 500, act: { act: 'scan' } }],
  },
  {
    name: 'sem-whatsapp',
    ending: '11',
    meaning: 'Número sem WhatsApp',
    does: 'Aceita a mensagem e avisa a falha 131026.',
    steps: failed(131026),
  },
  {
    name: 'fora-da-janela',
    ending: '12',
    meaning: 'Conversa fechada há mais de 24 horas',
    does: 'Aceita a mensagem e avisa a falha 131047.',
    steps: failed(131047),
  },
  {
    name: 'retida',
    ending: '13',
    meaning: 'Mensagem retida pela Meta',
    does: 'Aceita a mensagem e avisa a falha 131049.',
    steps: failed(131049),
  },
  {
    name: 'saiu',
    ending: '14',
    meaning: 'Pessoa que pediu para não receber',
    does: 'Aceita a mensagem e avisa a falha 131050.',
    steps: failed(131050),
  },
  {
    name: 'sem-template',
    ending: '15',
    meaning: 'Template que a Meta não conhece',
    does: 'Recusa na hora com o erro 132001. A mensagem não aparece na lista.',
    refusal: { code: 132001 },
    steps: [],
  },
  {
    name: 'variaveis-erradas',
    ending: '16',
    meaning: 'Variáveis que não batem com o template',
    does: 'Recusa na hora com o erro 132000. A mensagem não aparece na lista.',
    refusal: { code: 132000 },
    steps: [],
  },
  {
    name: 'limitado',
    ending: '21',
    meaning: 'Limite de envios atingido',
    does: 'Recusa com 130429 as duas primeiras tentativas da mesma mensagem; depois entrega.',
    refusal: { code: 130429, attempts: 2 },
    steps: arrives,
  },
  {
    name: 'instavel',
    ending: '22',
    meaning: 'Operadora instável',
    does: 'Responde 500 (131000) às duas primeiras tentativas da mesma mensagem; depois entrega.',
    refusal: { code: 131000, attempts: 2 },
    steps: arrives,
  },
  {
    name: 'lento',
    ending: '23',
    meaning: 'Operadora lenta',
    does: 'Leva 3 s para responder; depois entrega.',
    answersAfterMs: 3_000,
    steps: arrives,
  },
  {
    name: 'emudece',
    ending: '24',
    meaning: 'Operadora que emudece',
    does: 'Recebe a mensagem e nunca responde, mas avisa a entrega: é o aviso que esclarece o envio.',
    silent: true,
    steps: arrives,
  },
  {
    name: 'sem-noticia',
    ending: '25',
    meaning: 'Aparelho desligado',
    does: 'Aceita a mensagem, avisa o envio e mais nada.',
    steps: [sent],
  },
  {
    name: 'fora-de-ordem',
    ending: '26',
    meaning: 'Avisos fora de ordem',
    does: 'Avisa a leitura, depois a entrega e por último o envio.',
    steps: [
      { afterMs: 100, act: { act: 'read' } },
      { afterMs: 400, act: { act: 'delivered' } },
      { afterMs: 700, act: { act: 'sent' } },
    ],
  },
]

/** Any area code has the same fates, so that tests can use different numbers. */
export const fateNumber = ({ ending }: Fate, area = '11'): string => `${area}9000000${ending}`

const byEnding = new Map(FATES.map(fate => [fate.ending, fate]))

/** Takes the digits with the country code, with or without the ninth digit. */
export function fateOf(number: string): Fate {
  const [, ending] = /^55\d\d9?000000(\d\d)$/.exec(number) ?? []
  return (ending === undefined ? undefined : byEnding.get(ending)) ?? ORDINARY
}
