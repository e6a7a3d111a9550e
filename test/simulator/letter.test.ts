import { describe, expect, test } from 'vitest'
import { FATES, formatPostcode } from '../../simulator/letter/fates.js'
import { readSource } from '../support/sources.js'
import { simulatorForTest } from './carriers.js'

describe('the table of postcodes', () => {
  test('the API, the page and the document describe every fate in the same words', async () => {
    const simulator = await simulatorForTest()
    const document = readSource('docs/carta.md')
    const page = await (await fetch(`${simulator.url}/destinatarios`)).text()
    const { body } = await simulator.ask('/simulator/fates')
    const listed = (body as { channel: string }[]).filter(({ channel }) => channel === 'letter')
    expect(listed).toEqual(
      FATES.map(({ name, postcode, meaning, does }) => ({
        channel: 'letter',
        name,
        address: formatPostcode(postcode),
        meaning,
        does,
      })),
    )
    for (const { postcode, meaning, does } of FATES) {
      expect(document).toContain(`| \`${formatPostcode(postcode)}\` | ${meaning} | ${does} |`)
      expect(page).toContain(does)
    }
  })
})

describe('the print shop and the post', () => {
  const pdf = Buffer.from('%PDF-1.7 carta')
  const order = (more: object = {}) => ({
    referencia: 'r-1',
    modelo: 'registrada',
    assunto: 'Aviso',
    destinatario: { nome: 'Maria', logradouro: 'Rua', numero: '1', cidade: 'São Paulo', uf: 'SP', cep: '01000001' },
    remetente: { nome: 'Banco' },
    documento: { base64: pdf.toString('base64'), sha256: 'b3cb6d44f8d3b7ae3ef6a9f1a6d8e0d1', paginas: 1 },
    ...more,
  })

  async function shop() {
    const simulator = await simulatorForTest()
    const carriers = (await simulator.ask('/simulator/carriers')).body as { letter: string; 'letter-tracking': string }
    const { pathname, username } = new URL(carriers.letter)
    const ask = (body: object, headers: Record<string, string> = {}) =>
      simulator.ask(`${pathname}/cartas`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${username}`, 'idempotency-key': 'r-1', ...headers },
      })
    return { simulator, carriers, ask }
  }

  test('a wrong order is refused with a sentence that names the mistake', async () => {
    const { ask } = await shop()
    const cases: [object, Record<string, string>, number, RegExp][] = [
      [order(), { authorization: 'Bearer outro' }, 401, /SIMULATOR_KEY/],
      [order(), { 'idempotency-key': 'x' }, 422, /Idempotency-Key/],
      [order({ destinatario: {} }), {}, 422, /destinatario\.cep/],
      [order({ documento: { base64: 'AAAA', sha256: 'x', paginas: 1 } }), {}, 422, /documento\.base64/],
      [order(), {}, 422, /sha256/],
    ]
    for (const [body, headers, status, message] of cases) {
      const answer = await ask(body, headers)
      expect([answer.status, (answer.body as { mensagem: string }).mensagem]).toEqual([status, expect.stringMatching(message)])
    }
  })

  test('the tracking requires a token, takes at most fifty codes and knows only its own', async () => {
    const { simulator, carriers } = await shop()
    const url = new URL(carriers['letter-tracking'])
    const basic = Buffer.from(`${url.username}:${url.password}`).toString('base64')
    const path = `${url.pathname}/srorastro/v1/objetos?codigosObjetos=`
    const token = async (authorization: string) =>
      simulator.ask(`${url.pathname}/token/v1/autentica/cartaopostagem`, {
        method: 'POST',
        body: { numero: '1' },
        headers: { authorization },
      })
    expect((await token('Basic eDp4')).status).toBe(401)
    const authorization = `Bearer ${((await token(`Basic ${basic}`)).body as { token: string }).token}`
    expect((await simulator.ask(`${path}X`)).status).toBe(401)
    expect((await simulator.ask(path + Array(51).fill('X').join(','), { headers: { authorization } })).status).toBe(400)
    const known = await simulator.ask(`${path}AA473124829BR`, { headers: { authorization } })
    expect(known.body).toMatchObject({
      objetos: [{ codObjeto: 'AA473124829BR', mensagem: expect.stringContaining('não encontrado') }],
    })
  })
})
