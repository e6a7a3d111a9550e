import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { createAccount, type Gateway, issueToken, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { errorBody, send, validSend } from '../support/gateway/requests.js'
import { happen } from '../support/gateway/webhooks.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

/** GET /gw/notifications: an account finds its notifications again. */
let database: TestDatabase
let gateway: Gateway

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

interface Found {
  idEmail: string
  customID: string | null
  canais: Record<string, unknown>[]
}

interface Owner extends TestAccount {
  accept(body?: object): Promise<string>
  ask: Ask
  find(query?: string): Promise<{ ids: string[]; cursor: string | null; data: Found[] }>
}

async function createOwner(made?: TestAccount): Promise<Owner> {
  const account = made ?? (await createAccount(database.pool))
  const ask = conformingRequests(gateway, { token: account.token })
  return {
    ...account,
    ask,
    async accept(body = {}) {
      const answer = await send(gateway.url, account.token, { ...validSend, ...body })
      expect(answer.status).toBe(200)
      return (answer.body as { idEmail: string }).idEmail
    },
    async find(query = '') {
      const answer = await ask(`/gw/notifications${query}`)
      expect([query, answer.status, answer.body]).toEqual([query, 200, expect.anything()])
      const { data, cursor } = answer.body as { data: Found[]; cursor: string | null }
      return { data, cursor, ids: data.map(({ idEmail }) => idEmail) }
    },
  }
}

const number = '11987654321'

describe('what is found', () => {
  test('4 all of them, newest first, each with its channels and their last status', async () => {
    const owner = await createOwner()
    const ids = [await owner.accept({ customID: 'c-1' }), await owner.accept({ sms: { number } })]
    await happen(database.pool, ids[0]!, 'email', 'sent')
    const { data, cursor } = await owner.find()
    expect(cursor).toBeNull()
    const date = expect.stringMatching(/^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d$/)
    expect(data).toEqual([
      {
        idEmail: ids[1],
        codEmail: expect.any(Number),
        customID: null,
        nameTo: validSend.nameTo,
        subject: validSend.subject,
        criadoEm: expect.stringMatching(/-03:00$/),
        canais: [
          { canal: 'email', destinatario: validSend.to, estado: 'queued', label: 'Processado', dateTime: date },
          { canal: 'sms', destinatario: '+5511987654321', estado: 'waiting', label: 'Aguardando o e-mail', dateTime: date },
        ],
      },
      expect.objectContaining({
        idEmail: ids[0],
        customID: 'c-1',
        canais: [expect.objectContaining({ estado: 'done', label: 'Enviado' })],
      }),
    ])
    expect((data[1] as unknown as { codEmail: number }).codEmail).toBeLessThan(
      (data[0] as unknown as { codEmail: number }).codEmail,
    )
  })

  test('4 by customID, exactly', async () => {
    const owner = await createOwner()
    const [one, two] = [await owner.accept({ customID: 'pedido 7/a' }), await owner.accept({ customID: 'pedido 7/a' })]
    await owner.accept({ customID: 'pedido 7/A' })
    expect((await owner.find(`?customID=${encodeURIComponent('pedido 7/a')}`)).ids).toEqual([two, one])
    expect((await owner.find('?customID=pedido')).ids).toEqual([])
  })

  test('4 by recipient: an address in any case, a number in any form, a name on a letter', async () => {
    const owner = await createOwner()
    const byMail = await owner.accept({ to: 'Joana.Prado@Example.com' })
    const byNumber = await owner.accept({ to: undefined, sms: { number }, whatsapp: { number } })
    const byName = await owner.accept({ to: undefined, carta: { name: 'Joana Prado' } })
    const find = async (recipient: string) => (await owner.find(`?recipient=${encodeURIComponent(recipient)}`)).ids
    expect(await find('joana.prado@EXAMPLE.com')).toEqual([byMail])
    for (const form of [number, `55${number}`, `+55${number}`]) expect(await find(form)).toEqual([byNumber])
    expect(await find('joana prado')).toEqual([byName])
    expect(await find(validSend.nameTo)).toEqual([])
    expect(await find('ninguem@example.com')).toEqual([])
    expect((await owner.find(`?recipient=${number}&channel=whatsapp`)).ids).toEqual([byNumber])
    expect((await owner.find(`?recipient=${number}&channel=voz`)).ids).toEqual([])
  })

  test('4 by what happened, in the words of the webhooks, and by the state of now', async () => {
    const owner = await createOwner()
    const [fresh, read, bounced, revived] = [
      await owner.accept({ sms: { number } }),
      await owner.accept(),
      await owner.accept(),
      await owner.accept(),
    ]
    await happen(database.pool, read, 'email', 'read')
    await happen(database.pool, bounced, 'email', 'sent')
    await happen(database.pool, bounced, 'email', 'failed', { failure: 'bounced' })
    await happen(database.pool, revived, 'email', 'failed', { failure: 'rejected' })
    await happen(database.pool, revived, 'email', 'revived')
    const find = async (status: string) => (await owner.find(`?status=${status}`)).ids
    expect(await find('enviado')).toEqual([bounced, read])
    expect(await find('entregue')).toEqual([read])
    expect(await find('lido')).toEqual([read])
    expect(await find('confirmado')).toEqual([])
    expect(await find('falhou')).toEqual([bounced])
    expect(await find('retomado')).toEqual([revived])
    expect(await find('queued')).toEqual([revived, fresh])
    expect(await find('waiting')).toEqual([fresh])
    expect((await owner.find('?status=waiting&channel=sms')).ids).toEqual([fresh])
    expect((await owner.find('?status=waiting&channel=email')).ids).toEqual([])
    for (const word of [
      'respondido',
      'link_acessado',
      'gravado',
      'cancelado',
      'em_verificacao',
      'em_producao',
      'preparado',
      'dead',
    ])
      expect([word, await find(word)]).toEqual([word, []])
  })

  test('4 by day of Brasília, and by moment', async () => {
    const owner = await createOwner()
    const id = await owner.accept()
    const moved = newId(Date.parse('2026-11-15T02:30:00Z'))
    // The last minutes of the 14th in Brasília.
    await database.tamper('update notification set id = $2 where id = $1', [id, moved])
    await database.tamper('update delivery set notification_id = $2 where notification_id = $1', [id, moved])
    const find = async (query: string) => (await owner.find(query)).ids
    expect(await find('?from=2026-11-14&to=2026-11-14')).toEqual([moved])
    expect(await find('?from=2026-11-15')).toEqual([])
    expect(await find('?to=2026-11-13')).toEqual([])
    expect(await find('?from=2026-11-14T23:30:00-03:00&to=2026-11-14T23:31:00-03:00')).toEqual([moved])
    expect(await find('?to=2026-11-14T23:30:00-03:00')).toEqual([])
    expect(await find('?from=2026-11-15T02:30:00+00:00')).toEqual([moved])
  })

  test('4 empty parameters count as absent, and unknown ones are ignored', async () => {
    const owner = await createOwner()
    const id = await owner.accept()
    expect((await owner.find('?customID=&recipient=&channel=&status=&from=&to=&cursor=&x=1')).ids).toEqual([id])
  })
})

describe('pages', () => {
  test('4 every notification is on exactly one page, whatever is accepted meanwhile', async () => {
    const owner = await createOwner()
    const ids: string[] = []
    for (let n = 0; n < 115; n++)
      ids.unshift(await owner.accept({ customID: n % 2 === 0 ? 'par' : 'impar', to: 'a@example.com' }))
    for (const [query, wanted] of [
      ['?', ids],
      ['?customID=par', ids.filter((_, index) => index % 2 === 0)],
      ['?recipient=a@example.com', ids],
      ['?status=queued', ids],
    ] as const) {
      const seen: string[] = []
      const pages: number[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page = await owner.find(`${query}&cursor=${cursor}`)
        seen.push(...page.ids)
        pages.push(page.ids.length)
        cursor = page.cursor
        if (pages.length === 1) await owner.accept({ customID: 'nova', to: 'b@example.com' })
      }
      expect([query, seen.filter(id => ids.includes(id))]).toEqual([query, wanted])
      expect(Math.max(...pages)).toBe(50)
    }
  })
})

describe('nobody else’s', () => {
  test('another account and the other mode find nothing, even by the same words', async () => {
    const owner = await createOwner()
    const trial = await createOwner({ ...owner, ...(await issueToken(database.pool, owner.id, { mode: 'test' })) })
    const stranger = await createOwner()
    const id = await owner.accept({ customID: 'x-1', to: 'so@example.com', sms: { number: '11987650000' } })
    for (const query of [
      '',
      '?customID=x-1',
      '?recipient=so@example.com',
      '?recipient=11987650000',
      `?cursor=${newId(Date.now() + 60_000)}`,
    ]) {
      expect((await owner.find(query)).ids).toEqual([id])
      expect((await trial.find(query)).ids).toEqual([])
      expect((await stranger.find(query)).ids).toEqual([])
    }
  })
})

describe('7 what cannot be searched for is 400, and says which parameter and what to do', () => {
  test.each([
    ['channel=fax', 'O parâmetro channel deve ser um destes: email, sms, whatsapp, voz, carta.'],
    ['channel=voice', 'O parâmetro channel deve ser um destes: email, sms, whatsapp, voz, carta.'],
    ['status=sent', /^O parâmetro status deve ser um destes: .*enviado, .*respondido, .*waiting, /],
    ['status=__proto__', /^O parâmetro status/],
    ['from=ontem', /^O parâmetro from deve ser um dia, como 2026-07-18/],
    ['to=2026-02-30', /^O parâmetro to deve ser um dia/],
    ['from=2026-07-18T01:01:32', /^O parâmetro from/],
    ['from=2026-07-18&to=2026-07-17', 'O parâmetro to deve ser depois de from. Corrija um dos dois.'],
    ['cursor=2', /^O parâmetro cursor/],
    ['recipient=(11)98765-4321&channel=sms', /^O parâmetro recipient deve ser um número/],
    ['recipient=11987654321&channel=email', /^O parâmetro recipient deve ser um endereço de e-mail/],
    [`customID=${'x'.repeat(256)}`, /parâmetro customID passa do limite de 255/],
    ['recipient=a&recipient=b', /parâmetro recipient aparece mais de uma vez no endereço\. Informe-o uma só vez/],
    ['customID=%00', /^O parâmetro customID tem caracteres inválidos/],
    ['channel=sms&channel=email', /channel/],
  ])('%s', async (query, message) => {
    const { ask } = await createOwner()
    const answer = await ask(`/gw/notifications?${query}`)
    expect(answer.status).toBe(400)
    const expected = typeof message === 'string' ? message : expect.stringMatching(message)
    expect(answer.body).toEqual(errorBody(400, expected, 'Bad Request'))
  })
})
