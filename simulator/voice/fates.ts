export interface Fate {
  name: string
  /** The last two digits of the number. */
  ending: string
  meaning: string
  does: string
  /** The carrier refuses the request with this HTTP status and error code. */
  refusal?: { status: number; code: number; message: string }
  /** The carrier accepts the call and never answers the request. */
  silent?: true
  /** The reaction to the first call, to the second and so on. The last one repeats. */
  reactions: readonly [Reaction, ...Reaction[]]
}

/** How the called telephone reacts. */
export type Reaction =
  | 'listens'
  | 'ignores the key'
  | 'hangs up early'
  | 'machine'
  | 'fax'
  /** The carrier cannot tell whether a person answered. */
  | 'unclear'
  | 'busy'
  | 'no-answer'
  | 'failed'
  /** Rings until a person chooses an action on the page or in the API. */
  | 'waits'

const PREFIX = '+5511900000'

export const fateNumber = ({ ending }: Fate): string => `${PREFIX}0${ending}`

/** The numbers with a fixed fate. GET /simulator/fates, the page and docs/voz.md show this table. */
export const FATES: readonly Fate[] = [
  {
    name: 'atende',
    ending: '01',
    meaning: 'Pessoa que atende e ouve',
    does: 'Atende, tecla 1 se isso for pedido e ouve até o fim. É também o que acontece com qualquer número fora desta lista.',
    reactions: ['listens'],
  },
  {
    name: 'ocupado',
    ending: '02',
    meaning: 'Linha sempre ocupada',
    does: 'Responde ocupado a toda ligação.',
    reactions: ['busy'],
  },
  {
    name: 'nao-atende',
    ending: '03',
    meaning: 'Ninguém em casa',
    does: 'Toca até a operadora desistir, em toda ligação.',
    reactions: ['no-answer'],
  },
  {
    name: 'caixa-postal',
    ending: '04',
    meaning: 'Caixa postal',
    does: 'A caixa postal atende, grava o recado neutro e desliga.',
    reactions: ['machine'],
  },
  {
    name: 'desliga',
    ending: '05',
    meaning: 'Pessoa que desliga logo',
    does: 'Atende e desliga durante a saudação, antes de a mensagem começar, em toda ligação.',
    reactions: ['hangs up early'],
  },
  {
    name: 'nao-tecla',
    ending: '06',
    meaning: 'Pessoa que não tecla',
    does: 'Atende e, quando a ligação pede uma tecla, não tecla nada; sem esse pedido, ouve.',
    reactions: ['ignores the key'],
  },
  {
    name: 'ocupado-depois-atende',
    ending: '07',
    meaning: 'Ocupado na primeira vez',
    does: 'Responde ocupado à primeira ligação de cada notificação e atende a seguinte.',
    reactions: ['busy', 'listens'],
  },
  {
    name: 'falha',
    ending: '08',
    meaning: 'Número que não existe, descoberto ao ligar',
    does: 'A operadora aceita o pedido e avisa que a ligação falhou (SIP 404).',
    reactions: ['failed'],
  },
  {
    name: 'recusado',
    ending: '09',
    meaning: 'Número que a operadora recusa na hora',
    does: 'Responde ao pedido com o erro 21211. A ligação não aparece na lista.',
    refusal: { status: 400, code: 21211, message: 'O número de destino não é válido.' },
    reactions: ['failed'],
  },
  {
    name: 'fax',
    ending: '10',
    meaning: 'Aparelho de fax',
    does: 'Um fax atende; a ligação é encerrada.',
    reactions: ['fax'],
  },
  {
    name: 'espera',
    ending: '11',
    meaning: 'Telefone nas suas mãos',
    does: 'Toca, sem que nada seja avisado, até que alguém aja pela página ou pela API.',
    reactions: ['waits'],
  },
  {
    name: 'devagar',
    ending: '12',
    meaning: 'Operadora que pede calma',
    does: 'Responde ao pedido com 429 e Retry-After de 1 s, sempre. A ligação não aparece na lista.',
    refusal: { status: 429, code: 20429, message: 'Pedidos demais.' },
    reactions: ['failed'],
  },
  {
    name: 'mudo',
    ending: '13',
    meaning: 'Operadora que aceita e emudece',
    does: 'Aceita a ligação e nunca responde ao pedido; a ligação toca e a pessoa ouve.',
    silent: true,
    reactions: ['listens'],
  },
  {
    name: 'indistinto',
    ending: '14',
    meaning: 'Pessoa ou caixa postal, não se sabe',
    does: 'Atende e fica em silêncio: a operadora não distingue uma pessoa de uma caixa postal, e só o recado neutro é falado.',
    reactions: ['unclear'],
  },
]

export const findFate = (number: string): Fate => FATES.find(fate => fateNumber(fate) === number) ?? FATES[0]!

/** The reaction to the first, second, … call of the same delivery. */
export const reactionOf = ({ reactions }: Fate, ordinal: number): Reaction => reactions[Math.min(ordinal, reactions.length) - 1]!
