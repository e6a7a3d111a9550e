import { E_CARTA, eCartaProvider } from '../../../src/channels/letter/e-carta/e-carta.js'
import { createLotJournal } from '../../../src/channels/letter/e-carta/lot-journal.js'
import type { LetterMessage } from '../../../src/channels/letter/letter-message.js'
import { printShopProvider } from '../../../src/channels/letter/print-shop.js'
import { startHttpSide } from '../scripted-http.js'
import { type Behaviour, Plan, type ScriptedSide, type Subject, WAIT_SECONDS } from '../subject.js'
import { letterTo } from './letters.js'
import { POST_PASSWORD, startSftpPost } from './sftp-post.js'

const TOKEN = 'token-do-contrato'
const CALLBACK_SECRET = 'segredo-do-callback'

const message = (reference: string): LetterMessage => letterTo('01000001', reference)

export const printShopSubject: Subject<LetterMessage> = {
  name: 'print-shop',
  channel: 'letter',
  setting: 'LETTER_URL',
  start: () =>
    startHttpSide({
      provider: () => printShopProvider(),
      url: port => `print+http://${TOKEN}:${CALLBACK_SECRET}@127.0.0.1:${port}/v1`,
      nameOf: ({ headers }) => String(headers['idempotency-key']),
      accept: number => ({ status: 201, body: JSON.stringify({ id: `C-${number}` }) }),
      refusals: {
        'refuse for good': { status: 422, body: '{"mensagem":"O CEP não existe."}' },
        'refuse for a while': { status: 503, body: '{"mensagem":"Fora do ar."}' },
        throttle: { status: 429, body: '{}', headers: { 'retry-after': String(WAIT_SECONDS) } },
      },
      lookUp({ path }, taken) {
        const place = taken.indexOf(decodeURIComponent(path.slice('/v1/cartas/'.length)))
        if (place === -1) return { status: 404, body: '{"situacao":"desconhecida"}' }
        return { status: 200, body: JSON.stringify({ id: `C-${place + 1}`, situacao: 'processando' }) }
      },
    }),
  request: { carta: {} },
  message,
  secrets: [TOKEN, CALLBACK_SECRET],
  badUrls: [
    ['print+https://cartas.example.com', 'token'],
    ['print+https://:segredo@cartas.example.com', 'token'],
  ],
  givesNames: true,
  cannot: {},
}

async function startPost(): Promise<ScriptedSide<LetterMessage>> {
  const post = await startSftpPost()
  const plan = new Plan()
  let behaviour: Behaviour = 'accept'
  post.on = (operation, when) => {
    const before = when === 'before'
    // A lot is the post's once its file has the name that the post reads: the rename is the message.
    if (operation !== 'rename') return before && plan.now === 'refuse for a while' ? 'fail' : 'go'
    if (before) {
      behaviour = plan.take()
      return behaviour === 'drop' ? 'cut' : 'go'
    }
    if (behaviour === 'stay silent') return new Promise(() => {})
    if (behaviour === 'answer garbage') return 'garble'
    return behaviour === 'reset' ? 'cut' : 'go'
  }
  return {
    url: post.url(),
    provider: ({ pool, carrier = E_CARTA, onEvents }) =>
      eCartaProvider({
        journal: createLotJournal(pool, carrier),
        privateKey: null,
        clock: Date.now,
        onEvents,
        onReceipt: async () => {},
        onError: () => {},
      }),
    behave: plan.behave,
    taken: () => post.printed,
    leave: post.leave,
    comeBack: post.comeBack,
    open: post.connections,
  }
}

const GOOD = 'ecarta+sftp://carteiro:x@host/pasta?matriz=1&contrato=9&cartao=7&chave=SHA256:x'

export const eCartaSubject: Subject<LetterMessage> = {
  name: E_CARTA,
  channel: 'letter',
  setting: 'LETTER_URL',
  start: startPost,
  request: { carta: {} },
  message,
  secrets: [POST_PASSWORD],
  badUrls: [
    [GOOD.replace('&chave=SHA256:x', ''), 'chave'],
    [GOOD.replace(':x@', '@'), 'senha'],
    [GOOD.replace('carteiro:x@', ''), 'usuário'],
    [GOOD.replace('matriz=1', 'matriz=um'), 'matriz'],
    [GOOD.replace('/pasta', '/%zz'), 'pasta'],
    [`${GOOD}&lote=0`, 'lote'],
  ],
  givesNames: true,
  cannot: {
    'refuse for good': 'a folder takes every file; the post tells what is wrong in a return',
    throttle: 'SFTP has no answer that asks for fewer files',
    'stand behind a proxy': 'SFTP is not HTTP',
  },
}
