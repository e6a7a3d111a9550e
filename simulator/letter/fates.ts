export interface Fate {
  name: string
  postcode: string
  meaning: string
  does: string
  /** The behaviour of the print shop, if it is not the ordinary one. */
  printing?: 'refused' | 'deferred twice' | 'throttled once' | 'refused later' | 'answer lost' | 'silent'
  /** The behaviour of Correios, if it does not simply deliver. */
  post?: readonly PostStep[]
}

/** One entry of the tracking. */
export interface PostEvent {
  code: string
  type: string
  text: string
}

export interface PostStep extends PostEvent {
  afterMs: number
}

const POSTED: PostStep = { afterMs: 0, code: 'PO', type: '01', text: 'Objeto postado' }
const MOVING: PostStep = { afterMs: 500, code: 'RO', type: '01', text: 'Objeto em trânsito - por favor aguarde' }
const LEFT: PostStep = { afterMs: 1_000, code: 'OEC', type: '01', text: 'Objeto saiu para entrega ao destinatário' }
export const DELIVERED: PostEvent = { code: 'BDE', type: '01', text: 'Objeto entregue ao destinatário' }
export const ABSENT: PostEvent = {
  code: 'BDE',
  type: '20',
  text: 'Carteiro não atendido: o destinatário estava ausente',
}
export const LOST: PostEvent = { code: 'BDE', type: '80', text: 'Objeto extraviado' }

export const DELIVERY: readonly PostStep[] = [POSTED, MOVING, LEFT, { afterMs: 1_500, ...DELIVERED }]

const returned = (type: string, text: string): readonly PostStep[] => [
  POSTED,
  MOVING,
  LEFT,
  { afterMs: 1_500, code: 'BDE', type, text: `Objeto não entregue: ${text}` },
]

const RETURNS: readonly [string, string, string][] = [
  ['003', 'nao-procurada', 'Não procurado'],
  ['004', 'recusada-na-porta', 'Recusado'],
  ['005', 'falecido', 'Falecido'],
  ['006', 'desconhecido', 'Desconhecido'],
  ['007', 'endereco-insuficiente', 'Endereço insuficiente'],
  ['008', 'numero-inexistente', 'Número inexistente'],
  ['010', 'mudou-se', 'Mudou-se'],
  ['021', 'ausente', 'Ausente'],
]

/** The postcodes with a fixed fate, which end in Correios' own codes. GET /simulator/fates, the page and docs/carta.md show this table. */
export const FATES: readonly Fate[] = [
  {
    name: 'entregue',
    postcode: '01000001',
    meaning: 'Endereço que recebe',
    does: 'É impressa, postada e entregue em poucos segundos. É também o que acontece com qualquer CEP fora desta lista.',
  },
  ...RETURNS.map(([suffix, name, reason]) => ({
    name,
    postcode: `01000${suffix}`,
    meaning: `Devolvida: ${reason}`,
    does: `É postada e volta com o motivo ${Number(suffix)} dos Correios, “${reason}”.`,
    post: returned(String(Number(suffix)).padStart(2, '0'), reason.toLowerCase()),
  })),
  {
    name: 'atrasada',
    postcode: '01000020',
    meaning: 'Ausente na primeira visita',
    does: 'O carteiro não é atendido, volta depois e entrega.',
    post: [POSTED, MOVING, LEFT, { afterMs: 1_500, ...ABSENT }, { afterMs: 3_000, ...DELIVERED }],
  },
  {
    name: 'extraviada',
    postcode: '01000080',
    meaning: 'Carta que se perde',
    does: 'É postada e os Correios a dão por extraviada.',
    post: [POSTED, MOVING, { afterMs: 1_500, ...LOST }],
  },
  {
    name: 'recusada',
    postcode: '01000090',
    meaning: 'Carta que a gráfica não aceita',
    does: 'A gráfica recusa o pedido na hora (422).',
    printing: 'refused',
  },
  {
    name: 'recusada-depois',
    postcode: '01000091',
    meaning: 'Carta que a gráfica recusa depois de aceitar',
    does: 'A gráfica aceita o pedido e depois avisa que não pôde imprimir.',
    printing: 'refused later',
  },
  {
    name: 'temporaria',
    postcode: '01000092',
    meaning: 'Gráfica ocupada',
    does: 'Responde 503 às duas primeiras tentativas e aceita a terceira.',
    printing: 'deferred twice',
  },
  {
    name: 'sem-resposta',
    postcode: '01000093',
    meaning: 'Resposta que se perde',
    does: 'A gráfica aceita a carta e corta a conexão sem responder: o gateway pergunta antes de reenviar.',
    printing: 'answer lost',
  },
  {
    name: 'limite',
    postcode: '01000094',
    meaning: 'Gráfica que pede calma',
    does: 'Responde 429 com Retry-After à primeira tentativa e aceita a segunda.',
    printing: 'throttled once',
  },
  {
    name: 'silencio',
    postcode: '01000095',
    meaning: 'Gráfica que não responde',
    does: 'A gráfica aceita a carta e deixa a conexão aberta sem responder.',
    printing: 'silent',
  },
]

export const findFate = (postcode: string): Fate | null => FATES.find(fate => fate.postcode === postcode) ?? null

export const formatPostcode = (postcode: string): string => `${postcode.slice(0, 5)}-${postcode.slice(5)}`
