import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { MAX_TEMPLATE_CHARACTERS } from '../../src/domain/send/template.js'
import { dataFolder } from '../support/database/data-folder.js'
import { createDatabase, type TestDatabase } from '../support/database/database.js'
import { readStored } from '../support/database/stored.js'
import { runCommand } from '../support/gateway/command.js'
import { createAccount, type Gateway, issueToken, startGateway, type TestAccount } from '../support/gateway/gateway.js'
import { type Answer, errorBody, request, send, validSend } from '../support/gateway/requests.js'
import { type Ask, conformingRequests } from '../support/openapi.js'

let database: TestDatabase
let gateway: Gateway
let owner: TestAccount
/** Of the same entity as the owner. */
let sibling: TestAccount
/** Of another entity. */
let stranger: TestAccount
let ask: Ask

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  owner = await createAccount(database.pool, { name: 'dona', entity: 'Grupo' })
  sibling = await createAccount(database.pool, { name: 'irma', entity: 'Grupo' })
  stranger = await createAccount(database.pool, { name: 'outra', entity: 'Outro grupo' })
  ask = conformingRequests(gateway, { token: owner.token })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

interface Template {
  id: string
  templateId: string | null
  nome: string
  tipo: string
  conteudo: string
  variaveis: { nome: string; obrigatoria: boolean }[]
  compartilhadoComEntidade: boolean
  ativo: boolean
  versao: number
  criadoEm: string
  atualizadoEm: string
  criadoPor: string
  metadata: Record<string, unknown>
}

const draft = { nome: 'aviso', tipo: 'email', conteudo: '<p>Olá, {{ nome }}.</p>' }

async function succeed(answer: Promise<Answer>, status = 200): Promise<Template> {
  const { status: got, body } = await answer
  expect([got, body]).toEqual([status, { data: expect.any(Object), statusCode: status }])
  return (body as { data: Template }).data
}

let made = 0
/** Under a name of its own, unless the test gives one. */
const create = (changes: object = {}, token = owner.token): Promise<Template> =>
  succeed(ask('/gw/templates', { method: 'POST', token, body: { ...draft, nome: `aviso ${++made}`, ...changes } }), 201)
const read = (id: string, token = owner.token): Promise<Template> => succeed(ask(`/gw/templates/${id}`, { token }))
const edit = (id: string, body: object, token = owner.token): Promise<Template> =>
  succeed(ask(`/gw/templates/${id}`, { method: 'PUT', token, body }))
const setActive = (id: string, ativo: boolean): Promise<Template> =>
  succeed(ask(`/gw/templates/${id}/status`, { method: 'PATCH', body: { ativo } }))
const preview = (id: string, variaveis?: object, token = owner.token): Promise<Answer> =>
  ask(`/gw/templates/${id}/preview`, { method: 'POST', token, body: { variaveis } })

const reasons: Record<number, string> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  413: 'Payload Too Large',
}

async function refuse(answer: Promise<Answer>, status: number, message: string | RegExp): Promise<void> {
  const { status: got, body } = await answer
  expect(body).toEqual(
    errorBody(status, typeof message === 'string' ? message : expect.stringMatching(message), reasons[status]!),
  )
  expect(got).toBe(status)
}

const forbidden = 'Você não tem permissão para editar este template. Só a conta que o criou pode editá-lo.'
const missing = 'Template não encontrado. Verifique o identificador.'
const tooMuch = 'O template demora ou cresce demais ao ser preenchido. Reduza repetições e tamanhos.'
const isoDate = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-03:00$/

describe('the link in a template', () => {
  test.each([
    'https://evil.example/?x={SHORT_LINK}',
    'Veja {SHORT_LINK}.',
    '{{ nome }}{SHORT_LINK}',
    '{{ nome -}} {SHORT_LINK}',
    '{SHORT_LINK} {%- if nome %}.evil.example{% endif %}',
  ])('stands alone, or the template is refused: %s', async conteudo => {
    const message = expect.stringMatching(/^No campo conteudo, \{SHORT_LINK\} deve ficar sozinho/)
    for (const tipo of ['sms', 'whatsapp'])
      expect(await ask('/gw/templates', { method: 'POST', body: { nome: 'link', tipo, conteudo } })).toMatchObject({
        status: 400,
        body: errorBody(400, message, 'Bad Request'),
      })
    const made = await create({ nome: `link ${conteudo}`.slice(0, 60), tipo: 'sms', conteudo: 'Olá {{ nome }}: {SHORT_LINK}' })
    expect(await ask(`/gw/templates/${made.id}`, { method: 'PUT', body: { conteudo } })).toMatchObject({ status: 400 })
  })
})

describe('2.6 creating', () => {
  test('2.6 answers 201 with the whole record and nothing else', async () => {
    const made = await create({
      nome: 'aviso',
      templateId: 'carrier-77',
      compartilhadoComEntidade: true,
      metadata: { idioma: 'pt_BR', nested: { a: [1, null, 'x'] } },
      variaveis: [{ nome: 'nome', obrigatoria: false }],
    })
    expect(made).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      templateId: 'carrier-77',
      nome: 'aviso',
      tipo: 'email',
      conteudo: '<p>Olá, {{ nome }}.</p>',
      variaveis: [{ nome: 'nome', obrigatoria: false }],
      compartilhadoComEntidade: true,
      ativo: true,
      versao: 1,
      criadoEm: expect.stringMatching(isoDate),
      atualizadoEm: expect.stringMatching(isoDate),
      criadoPor: 'dona',
      metadata: { idioma: 'pt_BR', nested: { a: [1, null, 'x'] } },
    })
    expect(await read(made.id)).toEqual(made)
  })

  test('2.6 what is left out, or null, has its default; every used variable is obligatory then', async () => {
    const nulls = { templateId: null, variaveis: null, compartilhadoComEntidade: null, metadata: null }
    for (const made of [await create(), await create(nulls)]) {
      expect(made).toMatchObject({
        templateId: null,
        variaveis: [{ nome: 'nome', obrigatoria: true }],
        compartilhadoComEntidade: false,
        ativo: true,
        metadata: {},
      })
    }
  })

  test('words that others should not read are accepted with a warning, where others can read them', async () => {
    const conteudo = 'Sua dívida vai ao SPC'
    const made = async (tipo: string) =>
      (await ask('/gw/templates', { method: 'POST', body: { nome: `aviso ${tipo}`, tipo, conteudo } })).body as {
        data: Template & { avisos?: string[] }
      }
    for (const tipo of ['sms', 'whatsapp', 'voz']) {
      const { data } = await made(tipo)
      expect(data.avisos).toEqual([expect.stringMatching(/“dívida”, “SPC”.*texto neutro/)])
      const edited = await ask(`/gw/templates/${data.id}`, { method: 'PUT', body: { conteudo: 'Há uma mensagem para você' } })
      expect((edited.body as { data: object }).data).not.toHaveProperty('avisos')
      const back = await ask(`/gw/templates/${data.id}`, { method: 'PUT', body: { conteudo } })
      expect((back.body as { data: object }).data).toHaveProperty('avisos')
    }
    for (const tipo of ['email', 'carta']) expect((await made(tipo)).data).not.toHaveProperty('avisos')
  })

  test.each(['whatsapp', 'email', 'sms', 'carta', 'voz'])('2.6 of type %s', async tipo => {
    expect(await create({ tipo })).toMatchObject({ tipo })
  })

  test('members that the service sets itself, and unknown ones, are ignored', async () => {
    const id = newId(0)
    const made = await create({ id, versao: 9, ativo: false, criadoPor: 'x', criadoEm: 'x', desconhecido: 1 })
    expect(made).toMatchObject({ versao: 1, ativo: true, criadoPor: 'dona' })
    expect(made.id).not.toBe(id)
  })

  test('names of 255 characters and contents of 200,000 pass, emoji counted as one', async () => {
    const made = await create({ nome: '🙂'.repeat(255), templateId: 'é'.repeat(255), conteudo: '🙂'.repeat(200_000) })
    expect([made.nome.length, made.templateId!.length, made.conteudo.length]).toEqual([510, 255, 400_000])
  })

  test.each<[string, object, RegExp]>([
    ['nome missing', { nome: undefined }, /campo nome é obrigatório/],
    ['nome invisible', { nome: '\u200b' }, /campo nome é obrigatório/],
    ['conteudo invisible', { conteudo: '\u2060\u200b' }, /campo conteudo é obrigatório/],
    ['nome blank', { nome: ' \n' }, /campo nome é obrigatório/],
    ['nome null', { nome: null }, /campo nome deve ser um texto/],
    ['nome a number', { nome: 7 }, /campo nome deve ser um texto/],
    ['nome of 256 characters', { nome: 'x'.repeat(256) }, /campo nome passa do limite de 255/],
    ['tipo missing', { tipo: undefined }, /campo tipo é obrigatório/],
    ['tipo unknown', { tipo: 'fax' }, /campo tipo deve ser um destes valores: email, sms, whatsapp, voz, carta/],
    ['tipo in English', { tipo: 'letter' }, /campo tipo deve ser um destes/],
    ['tipo of the prototype', { tipo: 'constructor' }, /campo tipo deve ser um destes/],
    ['conteudo missing', { conteudo: undefined }, /campo conteudo é obrigatório/],
    ['conteudo blank', { conteudo: '' }, /campo conteudo é obrigatório/],
    ['conteudo too long', { conteudo: 'x'.repeat(200_001) }, /campo conteudo passa do limite de 200000/],
    ['templateId a number', { templateId: 7 }, /campo templateId deve ser um texto/],
    ['templateId of 256 characters', { templateId: 'x'.repeat(256) }, /campo templateId passa do limite de 255/],
    [
      'compartilhadoComEntidade a text',
      { compartilhadoComEntidade: 'true' },
      /campo compartilhadoComEntidade deve ser verdadeiro ou falso/,
    ],
    ['metadata a list', { metadata: [] }, /campo metadata deve ser um objeto/],
    ['metadata a text', { metadata: '{}' }, /campo metadata deve ser um objeto/],
    ['variaveis an object', { variaveis: {} }, /campo variaveis deve ser uma lista/],
    ['a variable without obrigatoria', { variaveis: [{ nome: 'nome' }] }, /campo variaveis\[0\]\.obrigatoria é obrigatório/],
    ['a variable without nome', { variaveis: [{ obrigatoria: true }] }, /campo variaveis\[0\]\.nome é obrigatório/],
    ['a variable that is a text', { variaveis: ['nome'] }, /campo variaveis\[0\]/],
    ['an undeclared variable', { variaveis: [] }, /conteudo usa a variável nome, que não está em variaveis/],
    [
      'a repeated variable',
      {
        variaveis: [
          { nome: 'nome', obrigatoria: true },
          { nome: 'nome', obrigatoria: false },
        ],
      },
      /variável nome aparece mais de uma vez/,
    ],
    [
      'twenty thousand declared variables',
      { variaveis: Array.from({ length: 20_000 }, (_, n) => ({ nome: `v${n}`, obrigatoria: true })) },
      /no máximo 500 variáveis/,
    ],
    [
      'twenty thousand used variables',
      { conteudo: Array.from({ length: 20_000 }, (_, n) => `{{v${n}}}`).join('') },
      /no máximo 2000 etiquetas/,
    ],
    [
      'more used variables than there may be',
      { conteudo: Array.from({ length: 501 }, (_, n) => `{{v${n}}}`).join('') },
      /no máximo 500 variáveis/,
    ],
    [
      'a name with a blank, of which Liquid reads the first word',
      { conteudo: 'Olá, {{ nome completo }}' },
      /tem \{\{ nome completo \}\}, e uma parte disso ficaria fora da mensagem sem aviso\. Escreva \{\{ nome_completo \}\}/,
    ],
    [
      'a member of a variable',
      { conteudo: 'Olá, {{ cliente.nome }}' },
      /usa cliente\.nome, mas o valor de uma variável é .+ sem membros\. Use uma variável própria, como \{\{ cliente_nome \}\}/,
    ],
    ['an open tag', { conteudo: 'a\nb{% if nome %}' }, /conteudo não é um Liquid válido na linha 2/],
    ['an open output', { conteudo: '{{ nome' }, /não é um Liquid válido na linha 1/],
    ['an unknown tag', { conteudo: '{% nada %}' }, /não é um Liquid válido/],
    ['an unknown filter', { conteudo: '{{ nome | nada }}' }, /não é um Liquid válido/],
    ['a call of a constructor', { conteudo: "{{constructor.constructor('return process')()}}" }, /não é um Liquid válido/],
    ['an included file', { conteudo: "{% include '/etc/passwd' %}" }, /não é um Liquid válido/],
    ['a rendered file', { conteudo: "{% render 'package.json' %}" }, /não é um Liquid válido/],
    ['a layout', { conteudo: "{% layout '../package.json' %}" }, /não é um Liquid válido/],
  ])('2.6 %s is 400', async (_, changes, message) => {
    const before = await countTemplates()
    await refuse(ask('/gw/templates', { method: 'POST', body: { ...draft, ...changes } }), 400, message)
    expect(await countTemplates()).toBe(before)
  })

  test('a body over 1 MiB is 413, one that is no object or no JSON 400', async () => {
    const post = (body: unknown) => ask('/gw/templates', { method: 'POST', body })
    await refuse(post({ ...draft, conteudo: 'x'.repeat(1_048_576) }), 413, /limite de 1 MiB/)
    for (const body of ['[]', '"x"', 'null', '{', '']) await refuse(post(body), 400, /corpo da requisição/)
  })
})

const countTemplates = async (): Promise<number> =>
  (await database.pool.query<{ count: number }>('select count(*) from template')).rows[0]!.count

describe('a name means one template', () => {
  const post = (body: object, token = owner.token) =>
    ask('/gw/templates', { method: 'POST', token, body: { ...draft, tipo: 'carta', ...body } })
  const taken = (nome: string, id: string) =>
    `Já existe um template deste tipo com o nome "${nome}". Edite-o (PUT /gw/templates/${id}) ou escolha outro nome.`

  test('a second one of its type is 409 with the cure, and the first is still the one that is sent', async () => {
    const { id } = await create({ tipo: 'carta', nome: 'unico' })
    await refuse(post({ nome: 'unico', conteudo: 'a' }), 409, taken('unico', id))
    expect(await read(id)).toMatchObject({ conteudo: draft.conteudo, versao: 1 })
    // Its name stays its own while it is inactive: it may be activated again.
    await setActive(id, false)
    await refuse(post({ nome: 'unico' }), 409, taken('unico', id))
  })

  test('a rename into a taken name is 409, and nothing of the edit is kept', async () => {
    const { id } = await create({ tipo: 'carta', nome: 'ocupado' })
    const other = await create({ tipo: 'carta', nome: 'livre' })
    const body = { nome: 'ocupado', conteudo: 'mudado {{ nome }}' }
    await refuse(ask(`/gw/templates/${other.id}`, { method: 'PUT', body }), 409, taken('ocupado', id))
    expect(await read(other.id)).toEqual(other)
    expect(await edit(other.id, { nome: 'livre' })).toMatchObject({ nome: 'livre' })
  })

  test('of many that are created at once, one is', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => post({ nome: 'corrida' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
  })

  test('of templates that exchange names at once, each rename is done or is 409', async () => {
    const names = ['troca a', 'troca b', 'troca c', 'troca d']
    const ids = await Promise.all(names.slice(0, 3).map(async nome => (await create({ tipo: 'carta', nome })).id))
    for (let round = 0; round < 25; round++) {
      const renames = ids.map((id, place) =>
        ask(`/gw/templates/${id}`, { method: 'PUT', body: { nome: names[(round + place) % names.length] } }),
      )
      for (const { status } of await Promise.all(renames)) expect([200, 409]).toContain(status)
    }
    const kept = await Promise.all(ids.map(async id => (await read(id)).nome))
    expect(new Set(kept).size).toBe(ids.length)
  })

  test('another type, another account and the other mode have names of their own', async () => {
    const { id: account } = owner
    const { token } = await issueToken(database.pool, account, { mode: 'test' })
    await create({ tipo: 'carta', nome: 'de-todos' })
    await create({ tipo: 'voz', nome: 'de-todos' })
    await create({ tipo: 'carta', nome: 'de-todos' }, sibling.token)
    await create({ tipo: 'carta', nome: 'de-todos' }, token)
    expect((await post({ nome: 'de-todos' }, token)).status).toBe(409)
  })
})

describe('a variable in another notation', () => {
  test.each([
    ['Olá, {nome}.', '{nome}', '{{ nome }}'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the notation that is refused.
    ['Olá, ${nome}.', '${nome}', '{{ nome }}'],
    ['Olá, [[nome]].', '[[nome]]', '{{ nome }}'],
    ['Olá, {{ nome }} e { nome do sócio }.', '{ nome do sócio }', '{{ nome_do_sócio }}'],
    ['Leia {short_link} hoje', '{short_link}', '{SHORT_LINK}'],
    ['Olá, {0}.', '{0}', '{{ nome }}'],
  ])('is refused with the right spelling, at creation and at an edit: %s', async (conteudo, found, right) => {
    const message = `O campo conteudo tem ${found}, que sairia assim mesmo na mensagem. Escreva a variável como ${right}; se o texto for esse mesmo, ponha-o entre {% raw %} e {% endraw %}.`
    for (const tipo of ['email', 'sms', 'whatsapp', 'carta', 'voz'])
      await refuse(ask('/gw/templates', { method: 'POST', body: { nome: 'outra notação', tipo, conteudo } }), 400, message)
    const { id } = await create({ tipo: 'sms' })
    await refuse(ask(`/gw/templates/${id}`, { method: 'PUT', body: { conteudo } }), 400, message)
  })

  test('that is a number would be sent as a number, and is refused', async () => {
    await refuse(
      ask('/gw/templates', { method: 'POST', body: { nome: 'n', tipo: 'whatsapp', conteudo: 'Olá {{1}}' } }),
      400,
      /tem \{\{1\}\}, que sairia como um número/,
    )
  })

  test.each([
    'Olá {{ nome }}: {SHORT_LINK}',
    '{% raw %}Olá {nome}{% endraw %} {{ nome }}',
    '<style>p{color:red} td { margin: 0 }</style>{{ nome }}',
    'Art. 5 [1] {{ nome | default: "{x}" }} {',
  ])('is not what this is: %s', async conteudo => {
    await create({ conteudo })
  })

  test.each(['voz', 'carta'])('{SHORT_LINK} is refused where nothing takes its place: %s', async tipo => {
    const body = { nome: 'com link', tipo, conteudo: 'Leia {SHORT_LINK} hoje' }
    await refuse(ask('/gw/templates', { method: 'POST', body }), 400, /tem \{SHORT_LINK\}, que não existe em templates de/)
    const { id } = await create({ tipo })
    await refuse(ask(`/gw/templates/${id}`, { method: 'PUT', body }), 400, /\{SHORT_LINK\}/)
  })
})

describe('2.6 listing', () => {
  const codes: [string, string][] = [
    ['1', 'whatsapp'],
    ['2', 'email'],
    ['3', 'sms'],
    ['4', 'carta'],
    ['5', 'voz'],
  ]
  let one: TestAccount
  let two: TestAccount
  /** In the order of their making. */
  let made: Template[]

  beforeAll(async () => {
    one = await createAccount(database.pool, { entity: 'Lista' })
    two = await createAccount(database.pool, { entity: 'Lista' })
    made = []
    for (const [, tipo] of [...codes, ...codes]) made.push(await create({ tipo, nome: `${made.length}` }, one.token))
    made.push(await create({ tipo: 'sms', nome: 'compartilhado', compartilhadoComEntidade: true }, two.token))
    await create({ tipo: 'sms', nome: 'alheio' }, two.token)
    await create({ tipo: 'sms', nome: 'de fora', compartilhadoComEntidade: true }, stranger.token)
  })

  async function list(query: string, token = one.token): Promise<Template[]> {
    const { status, body } = await ask(`/gw/templates${query}`, { token })
    expect(status).toBe(200)
    expect(body).toEqual({ data: expect.any(Array), statusCode: 200 })
    return (body as { data: Template[] }).data
  }

  test('without a type: all own ones and those shared in the entity, whole, newest first', async () => {
    expect(await list('')).toEqual(made.toReversed())
    expect(await list('?')).toEqual(made.toReversed())
    expect(await list('/')).toEqual(made.toReversed())
  })

  test.each(codes)('type %s: %s only, newest first', async (code, tipo) => {
    const wanted = made.filter(template => template.tipo === tipo).toReversed()
    expect(wanted.length).toBeGreaterThan(1)
    expect(await list(`?type=${code}`)).toEqual(wanted)
  })

  test.each(['0', '6', '10', '', 'sms', '1%20', '01', '-1', '__proto__', 'constructor', 'toString', '%00'])(
    'type %j, another code: an empty list',
    async code => {
      expect(await list(`?type=${code}`)).toEqual([])
    },
  )

  test('pages follow each other by the Link header, each template once', async () => {
    const mine = await createAccount(database.pool)
    const five: string[] = []
    for (let n = 0; n < 5; n++) five.unshift((await create({ nome: `t${n}`, tipo: n === 2 ? 'sms' : 'email' }, mine.token)).id)
    const walk = async (path: string): Promise<string[][]> => {
      const { body, headers } = await ask(path, { token: mine.token })
      const ids = (body as { data: Template[] }).data.map(({ id }) => id)
      const [, next] = /^<(\/gw\/templates\?.*)>; rel="next"$/.exec(headers.get('link') ?? '') ?? []
      return next === undefined ? [ids] : [ids, ...(await walk(next))]
    }
    expect(await walk('/gw/templates?limit=2')).toEqual([five.slice(0, 2), five.slice(2, 4), five.slice(4)])
    const mails = five.filter((_, n) => n !== 2)
    expect(await walk('/gw/templates?type=2&limit=2')).toEqual([mails.slice(0, 2), mails.slice(2)])
    expect(await walk('/gw/templates?limit=5')).toEqual([five])
    expect(await walk('/gw/templates')).toEqual([five])
  })

  test('a page ends before it grows too large, whatever the limit', async () => {
    const mine = await createAccount(database.pool)
    const made: string[] = []
    for (let n = 0; n < 13; n++) {
      const content = 'x'.repeat(MAX_TEMPLATE_CHARACTERS)
      made.unshift((await create({ nome: `t${n}`, conteudo: content }, mine.token)).id)
    }
    const { body, headers } = await ask('/gw/templates', { token: mine.token })
    const first = (body as { data: Template[] }).data.map(({ id }) => id)
    expect(first).toEqual(made.slice(0, 11))
    expect(headers.get('link')).toBe(`</gw/templates?cursor=${made[10]}>; rel="next"`)
    expect((await list(`?cursor=${made[10]}`, mine.token)).map(({ id }) => id)).toEqual(made.slice(11))
  })

  test.each([
    ['limit=0', /^O parâmetro limit deve ser um número inteiro de 1 a 500\.$/],
    ['limit=501', /^O parâmetro limit deve ser um número inteiro de 1 a 500\.$/],
    ['limit=x', /^O parâmetro limit/],
    ['limit=', /^O parâmetro limit/],
    ['cursor=x', /^O parâmetro cursor deve ser o que a página anterior trouxe/],
  ])('%s is 400', async (query, message) => {
    await refuse(ask(`/gw/templates?${query}`, { token: one.token }), 400, message)
  })

  test('a type given twice is 400', async () => {
    await refuse(ask('/gw/templates?type=1&type=2', { token: one.token }), 400, /parâmetro type aparece mais de uma vez/)
  })

  test('inactive ones are listed too, as inactive; editing one does not change its place', async () => {
    const mine = await createAccount(database.pool)
    const [first, second] = [await create({}, mine.token), await create({}, mine.token)]
    await edit(first.id, { nome: 'mudado' }, mine.token)
    await succeed(ask(`/gw/templates/${second.id}`, { method: 'DELETE', token: mine.token }))
    expect((await list('', mine.token)).map(({ id, nome, ativo }) => [id, nome, ativo])).toEqual([
      [second.id, second.nome, false],
      [first.id, 'mudado', true],
    ])
  })
})

describe('4 editing', () => {
  test('4 operation 7 edits the name and the sharing, and answers with the whole record', async () => {
    const made = await create()
    const edited = await edit(made.id, { nome: 'novo nome', compartilhadoComEntidade: true })
    expect(edited).toEqual({
      ...made,
      nome: 'novo nome',
      compartilhadoComEntidade: true,
      atualizadoEm: expect.stringMatching(isoDate),
    })
    expect(edited.atualizadoEm >= made.atualizadoEm).toBe(true)
    expect(await read(made.id)).toEqual(edited)
  })

  test.each<[keyof Template, unknown]>([
    ['nome', 'outro'],
    ['compartilhadoComEntidade', false],
    ['templateId', 'carrier-2'],
    ['metadata', { outra: true }],
    ['conteudo', '<p>{{ nome }}!</p>'],
    ['variaveis', [{ nome: 'nome', obrigatoria: true }]],
  ])('a key left out, or null, is a field left alone: only %s changes', async (field, value) => {
    const made = await create({
      templateId: 'carrier-1',
      compartilhadoComEntidade: true,
      metadata: { uma: 1 },
      variaveis: [{ nome: 'nome', obrigatoria: false }],
    })
    const versao = ['conteudo', 'variaveis'].includes(field) ? 2 : 1
    const edited = { ...made, [field]: value, versao, atualizadoEm: expect.any(String) }
    expect(await edit(made.id, { [field]: value })).toEqual(edited)
    const nulls = {
      nome: null,
      compartilhadoComEntidade: null,
      templateId: null,
      metadata: null,
      conteudo: null,
      variaveis: null,
    }
    expect(await edit(made.id, { ...nulls, [field]: value })).toEqual(edited)
  })

  test('an empty templateId takes it away', async () => {
    const { id } = await create({ templateId: 'carrier-1' })
    expect(await edit(id, { templateId: '' })).toMatchObject({ templateId: null })
  })

  test('no key at all, or none that is known, is 400', async () => {
    const { id } = await create()
    for (const body of [{}, { desconhecido: 1 }, { nome: null }, { ativo: false, id: 'x' }])
      await refuse(ask(`/gw/templates/${id}`, { method: 'PUT', body }), 400, /^Nada a mudar/)
  })

  test.each<[object, RegExp]>([
    [{ nome: '' }, /campo nome/],
    [{ nome: 7 }, /campo nome deve ser um texto/],
    [{ nome: 'x'.repeat(256) }, /campo nome passa do limite/],
    [{ compartilhadoComEntidade: 'sim' }, /campo compartilhadoComEntidade deve ser verdadeiro ou falso/],
    [{ compartilhadoComEntidade: 1 }, /campo compartilhadoComEntidade deve ser verdadeiro ou falso/],
    [{ conteudo: ' ' }, /campo conteudo/],
    [{ conteudo: '{% if %}' }, /não é um Liquid válido/],
    [{ variaveis: [] }, /usa a variável nome/],
    [{ metadata: 'x' }, /campo metadata/],
  ])('4 %j is 400, and nothing of the edit is kept', async (body, message) => {
    const made = await create()
    await refuse(ask(`/gw/templates/${made.id}`, { method: 'PUT', body: { nome: 'depois', ...body } }), 400, message)
    expect(await read(made.id)).toEqual(made)
  })

  test('the body is refused before the permission and the existence are looked at', async () => {
    const { id } = await create()
    for (const target of [id, newId(Date.now()), 'nada']) {
      const put = (body: object) => ask(`/gw/templates/${target}`, { method: 'PUT', token: stranger.token, body })
      await refuse(put({}), 400, /^Nada a mudar/)
      await refuse(put({ nome: 1 }), 400, /campo nome/)
      await refuse(ask(`/gw/templates/${target}/status`, { method: 'PATCH', token: stranger.token, body: {} }), 400, /ativo/)
    }
    const put = (target: string) =>
      ask(`/gw/templates/${target}`, { method: 'PUT', token: stranger.token, body: { conteudo: '{{' } })
    for (const target of [id, newId(Date.now())]) await refuse(put(target), 400, /não é um Liquid válido/)
  })

  test('4 operation 8 activates and deactivates', async () => {
    const made = await create()
    const off = await setActive(made.id, false)
    expect(off).toEqual({ ...made, ativo: false, atualizadoEm: expect.stringMatching(isoDate) })
    expect(await setActive(made.id, false)).toMatchObject({ ativo: false, versao: 1 })
    expect(await setActive(made.id, true)).toMatchObject({ ativo: true, versao: 1 })
    expect(await read(made.id)).toMatchObject({ ativo: true })
  })

  test.each([{}, { ativo: null }, { ativo: 'true' }, { ativo: 1 }, { ativo: [] }, { nome: 'x' }])(
    '4 operation 8 needs a boolean: %j is 400',
    async body => {
      const { id } = await create()
      await refuse(ask(`/gw/templates/${id}/status`, { method: 'PATCH', body }), 400, /campo ativo/)
      expect(await read(id)).toMatchObject({ ativo: true })
    },
  )

  test('DELETE deactivates, with or without a Content-Type, and again; the template stays readable', async () => {
    const made = await create()
    for (const headers of [{}, { 'content-type': 'application/json' }] as Record<string, string>[]) {
      const gone = await succeed(ask(`/gw/templates/${made.id}`, { method: 'DELETE', headers }))
      expect(gone).toEqual({ ...made, ativo: false, atualizadoEm: expect.any(String) })
    }
    expect(await read(made.id)).toMatchObject({ ativo: false })
    expect(await setActive(made.id, true)).toMatchObject({ ativo: true })
  })
})

describe('versions', () => {
  test('each edit of the content makes a new one; earlier ones stay readable', async () => {
    const { id } = await create({ conteudo: 'um {{ a }}' })
    expect(await edit(id, { conteudo: 'dois {{ a }} {{ b }}' })).toMatchObject({ versao: 2 })
    expect(await edit(id, { conteudo: 'três', nome: 'novo' })).toMatchObject({ versao: 3, conteudo: 'três', variaveis: [] })
    const versions = await Promise.all([1, 2, 3].map(versao => succeed(ask(`/gw/templates/${id}?versao=${versao}`))))
    expect(
      versions.map(({ versao, conteudo, variaveis, nome }) => [versao, conteudo, variaveis.map(({ nome }) => nome), nome]),
    ).toEqual([
      [1, 'um {{ a }}', ['a'], 'novo'],
      [2, 'dois {{ a }} {{ b }}', ['a', 'b'], 'novo'],
      [3, 'três', [], 'novo'],
    ])
    expect(await read(id)).toEqual(versions[2])
  })

  test('a new content keeps what is known of its variables; new ones are obligatory', async () => {
    const { id } = await create({ variaveis: [{ nome: 'nome', obrigatoria: false }] })
    expect((await edit(id, { conteudo: '{{ nome }} {{ outra }}' })).variaveis).toEqual([
      { nome: 'nome', obrigatoria: false },
      { nome: 'outra', obrigatoria: true },
    ])
  })

  test('name, sharing, activity and the same content again make none', async () => {
    const { id, conteudo, variaveis } = await create()
    await edit(id, { nome: 'x', compartilhadoComEntidade: true, templateId: 'y', metadata: { z: 1 } })
    await setActive(id, false)
    await edit(id, { conteudo, variaveis })
    await edit(id, { conteudo })
    expect(await read(id)).toMatchObject({ versao: 1 })
  })

  test('a change of the variables alone makes one', async () => {
    const { id } = await create()
    expect(await edit(id, { variaveis: [{ nome: 'nome', obrigatoria: false }] })).toMatchObject({ versao: 2 })
    expect((await succeed(ask(`/gw/templates/${id}?versao=1`))).variaveis).toEqual([{ nome: 'nome', obrigatoria: true }])
  })

  test.each(['0', '2', '999999999', '9999999999', '-1', '1.0', 'um', '', '1%00'])(
    'version %j that does not exist is 404',
    async versao => {
      const { id } = await create()
      await refuse(ask(`/gw/templates/${id}?versao=${versao}`), 404, missing)
    },
  )

  test('edits at the same time each get a version of their own', async () => {
    const { id } = await create()
    const contents = Array.from({ length: 24 }, (_, index) => `conteúdo ${index}`)
    const edited = await Promise.all(contents.map(conteudo => edit(id, { conteudo })))
    expect(edited.map(({ versao }) => versao).sort((a, b) => a - b)).toEqual(contents.map((_, index) => index + 2))
    for (const { versao, conteudo } of edited)
      expect((await succeed(ask(`/gw/templates/${id}?versao=${versao}`))).conteudo).toBe(conteudo)
  })
})

describe('4.2 who may do what', () => {
  const edits: [string, string, object | undefined][] = [
    ['PUT', '', { nome: 'tomado', compartilhadoComEntidade: true }],
    ['PATCH', '/status', { ativo: false }],
    ['DELETE', '', undefined],
  ]

  test.each(edits)('4.2 %s by anyone but the owner is 403, shared or not, same entity or not', async (method, suffix, body) => {
    for (const compartilhadoComEntidade of [false, true]) {
      const made = await create({ compartilhadoComEntidade })
      for (const { token } of [sibling, stranger])
        await refuse(ask(`/gw/templates/${made.id}${suffix}`, { method, token, body }), 403, forbidden)
      expect(await read(made.id)).toEqual(made)
    }
  })

  test.each([['GET', '', undefined], ['POST', '/preview', {}], ...edits] as const)(
    '%s of an unknown template, or of what is no UUID, is 404',
    async (method, suffix, body) => {
      const { id } = await create()
      for (const target of [newId(Date.now()), 'nada', `${id}0`, id.slice(1), '%00', '__proto__', '..%2f', 'null', `${id}%20`])
        await refuse(ask(`/gw/templates/${target}${suffix}`, { method, body }), 404, missing)
    },
  )

  test('a preview of an unknown template with bad values is 400: the body is told of first', async () => {
    const answer = await ask(`/gw/templates/${newId(Date.now())}/preview`, { method: 'POST', body: { variaveis: { a: {} } } })
    expect(answer.status).toBe(400)
  })

  test('a refused edit costs no database connection', async () => {
    const { id } = await create()
    let closed = 0
    const count = (): void => {
      closed++
    }
    database.pool.on('remove', count)
    onTestFinished(() => {
      database.pool.off('remove', count)
    })
    for (const target of [id, newId(Date.now())]) {
      for (let round = 0; round < 10; round++) {
        const answer = await ask(`/gw/templates/${target}`, { method: 'PUT', token: stranger.token, body: { nome: 'x' } })
        expect([403, 404]).toContain(answer.status)
      }
    }
    expect(closed).toBe(0)
    expect(await edit(id, { nome: 'depois' })).toMatchObject({ nome: 'depois' })
  })

  test('sharing lets the entity read, list and preview, and nobody else', async () => {
    const made = await create({ compartilhadoComEntidade: true })
    expect(await read(made.id, sibling.token)).toEqual(made)
    expect((await preview(made.id, { nome: 'Ana' }, sibling.token)).status).toBe(200)
    await refuse(ask(`/gw/templates/${made.id}`, { token: stranger.token }), 404, missing)
    await refuse(preview(made.id, { nome: 'Ana' }, stranger.token), 404, missing)
  })

  test('an unshared one is 404 to all others, and becomes so again when the sharing ends', async () => {
    const { id } = await create()
    const tryBoth = async () => {
      await refuse(ask(`/gw/templates/${id}`, { token: sibling.token }), 404, missing)
      await refuse(ask(`/gw/templates/${id}?versao=1`, { token: sibling.token }), 404, missing)
      await refuse(preview(id, { nome: 'Ana' }, sibling.token), 404, missing)
    }
    await tryBoth()
    await edit(id, { compartilhadoComEntidade: true })
    expect(await read(id, sibling.token)).toMatchObject({ id })
    await edit(id, { compartilhadoComEntidade: false })
    await tryBoth()
  })

  test('4 ids in upper case and a trailing slash are fine on every route', async () => {
    const { id } = await create()
    const upper = id.toUpperCase()
    expect(await read(`${upper}/`)).toMatchObject({ id })
    expect(await edit(upper, { nome: 'em maiúsculas' })).toMatchObject({ id, nome: 'em maiúsculas' })
    expect(await succeed(ask(`/gw/templates/${upper}/status/`, { method: 'PATCH', body: { ativo: true } }))).toMatchObject({ id })
    expect((await preview(upper, { nome: 'x' })).status).toBe(200)
    expect(await succeed(ask(`/gw/templates/${upper}/`, { method: 'DELETE' }))).toMatchObject({ id, ativo: false })
  })

  test('5.6 without a token every route is 401', async () => {
    const { id } = await create()
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', `/${id}`],
      ['PUT', `/${id}`],
      ['PATCH', `/${id}/status`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/preview`],
    ] as const) {
      const answer = await request(`${gateway.url}/gw/templates${path}`, { method })
      expect([method, path, answer.body]).toEqual([method, path, errorBody(401, 'Unauthorized', 'Unauthorized')])
    }
  })
})

describe('preview', () => {
  const filled = async (content: string, tipo: string, variaveis: object): Promise<string> => {
    const { id } = await create({ conteudo: content, tipo })
    const { status, body } = await preview(id, variaveis)
    expect([status, body]).toEqual([200, { data: { conteudo: expect.any(String) }, statusCode: 200 }])
    return (body as { data: { conteudo: string } }).data.conteudo
  }

  test('fills the current version', async () => {
    const { id } = await create({ tipo: 'sms', conteudo: 'um {{ nome }}' })
    await edit(id, {
      conteudo: '{{ nome | upcase }}: {% assign lista = itens | split: "-" %}{% for i in lista %}{{ i }};{% endfor %}',
    })
    const answer = await preview(id, { nome: 'ana', itens: '1-2', sobra: 1 })
    expect(answer.body).toEqual({ data: { conteudo: 'ANA: 1;2;' }, statusCode: 200 })
  })

  test.each([undefined, null, {}, { nome: null }, { nome: '' }, { nome: '  ' }, { Nome: 'Ana' }])(
    'a missing obligatory variable is 400 and named: %j',
    async variaveis => {
      const { id } = await create()
      await refuse(preview(id, variaveis as object), 400, 'Falta o valor da variável obrigatória nome: informe variaveis.nome.')
    },
  )

  test('a missing optional variable leaves nothing behind', async () => {
    const { id } = await create({ conteudo: '[{{ nome }}]', variaveis: [{ nome: 'nome', obrigatoria: false }] })
    expect((await preview(id, {})).body).toMatchObject({ data: { conteudo: '[]' } })
    expect((await preview(id)).body).toMatchObject({ data: { conteudo: '[]' } })
  })

  test.each(['email', 'carta'])('%s: values are escaped', async tipo => {
    expect(await filled('<p>{{ nome }}</p>', tipo, { nome: '<img src=x onerror="alert(1)">' })).toBe(
      '<p>&lt;img src=x onerror=&#34;alert(1)&#34;&gt;</p>',
    )
  })

  test.each(['sms', 'whatsapp', 'voz'])('%s: values stay as they are', async tipo => {
    expect(await filled('{{ nome }}', tipo, { nome: 'A & B <c>' })).toBe('A & B <c>')
  })

  test.each(['valor.constructor', 'valor.__proto__', 'valor.toString', 'constructor', '__proto__', 'valor.__proto__.x'])(
    'what is not a member of the variables is not reached: %s',
    async expression => {
      const { id } = await create({ conteudo: `{% assign valor = nome %}{{ ${expression} }}` })
      await refuse(preview(id, { nome: 'x' }), 400, /^Falta o valor da variável obrigatória/)
    },
  )

  test.each<[string, string, object]>([
    ['an endless range', '{% for i in (1..999999999) %}x{% endfor %}', {}],
    ['endless loops in loops', '{% for i in (1..99999) %}{% for j in (1..99999) %}{% endfor %}{% endfor %}', {}],
    ['a text that doubles', '{% assign a = "x" %}{% for i in (1..99) %}{% assign a = a | append: a %}{% endfor %}{{ a }}', {}],
    ['half a gigabyte', `{% for i in (1..2500) %}${'x'.repeat(190_000)}{% endfor %}`, {}],
    ['more than a text can hold', `{% for i in (1..9999) %}${'x'.repeat(190_000)}{% endfor %}`, {}],
    ['a long value, many times', '{% for i in (1..600) %}{{ a }}{% endfor %}', { a: 'x'.repeat(900_000) }],
    ['a date as wide as a book', "{{ 'now' | date: '%999999999d' }}", {}],
  ])('%s is 400, and the server goes on', async (_, conteudo, variaveis) => {
    for (const tipo of ['sms', 'email']) {
      const { id } = await create({ tipo, conteudo })
      await refuse(preview(id, variaveis), 400, tooMuch)
    }
    expect((await request(`${gateway.url}/healthz`)).status).toBe(200)
  })

  test('a file named by a variable is not read', async () => {
    const { id } = await create({ conteudo: '{% include arquivo %}' })
    for (const arquivo of ['/etc/passwd', 'package.json', '../package.json'])
      await refuse(preview(id, { arquivo }), 400, /não é um Liquid válido/)
  })

  test.each([[[]], [{ variaveis: [] }], [{ variaveis: 'x' }]])('a body of %j is 400', async body => {
    const { id } = await create()
    await refuse(ask(`/gw/templates/${id}/preview`, { method: 'POST', body }), 400, /objeto/)
  })
})

describe('a send names its template', () => {
  const number = '11987654321'
  const naming = {
    whatsapp: (name: string) => ({ whatsapp: { number, variables: { template: name } } }),
    voice: (name: string) => ({ voz: { number, template: name } }),
    letter: (name: string) => ({ carta: { template: name } }),
  }
  type Named = keyof typeof naming
  const types: Record<Named, string> = { whatsapp: 'whatsapp', voice: 'voz', letter: 'carta' }

  /** What the delivery of a send that names a template will use. */
  async function fixed(channel: Named, name: string, token: string): Promise<[string | null, number | null]> {
    const answer = await send(gateway.url, token, { ...validSend, ...naming[channel](name) })
    expect(answer.status).toBe(200)
    const stored = await readStored(database.pool, (answer.body as { idEmail: string }).idEmail)
    const row = stored!.deliveries.find(delivery => delivery.channel === channel)!
    const told = (stored!.events[0]!.data.deliveries as { channel: string; template: object | null }[]).find(
      delivery => delivery.channel === channel,
    )!
    expect(told.template).toEqual(row.template_id === null ? null : { id: row.template_id, version: row.template_version })
    return [row.template_id, row.template_version]
  }

  test.each(Object.keys(naming) as Named[])(
    '%s: by public UUID, then own templateId, own name, shared templateId, shared name',
    async channel => {
      const mine = await createAccount(database.pool, { entity: `Envio ${channel}` })
      const theirs = await createAccount(database.pool, { entity: `Envio ${channel}` })
      const own = (changes: object, token = mine.token) => create({ tipo: types[channel], ...changes }, token)
      const shared = (changes: object) => own({ compartilhadoComEntidade: true, ...changes }, theirs.token)
      const byId = await own({ nome: 'pelo id' })
      await own({ nome: 'a', templateId: byId.id })
      await own({ nome: byId.id })
      expect(await fixed(channel, byId.id, mine.token)).toEqual([byId.id, 1])
      const name = 'de todos'
      // From the last to the first, so that being newest does not help.
      const order = [
        await own({ nome: 'b', templateId: name }),
        await own({ nome: name }),
        await shared({ nome: 'b', templateId: name }),
        await shared({ nome: name }),
      ]
      for (const template of order) {
        expect(await fixed(channel, name, mine.token)).toEqual([template.id, 1])
        const token = template.criadoPor === mine.id ? mine.token : theirs.token
        await edit(template.id, { nome: template.id, templateId: '' }, token)
      }
      expect(await fixed(channel, name, mine.token)).toEqual([null, null])
    },
  )

  test.each(Object.keys(naming) as Named[])(
    '%s: the name of an inactive template never means the text of another one',
    async channel => {
      const mine = await createAccount(database.pool, { entity: `Inativo ${channel}` })
      const theirs = await createAccount(database.pool, { entity: `Inativo ${channel}` })
      const make = (changes: object, token = mine.token) => create({ tipo: types[channel], ...changes }, token)
      const off = (id: string, token = mine.token) => succeed(ask(`/gw/templates/${id}`, { method: 'DELETE', token }))
      // An own name, and the same name shared by another account.
      const own = await make({ nome: 'cobrança' })
      await make({ nome: 'cobrança', compartilhadoComEntidade: true }, theirs.token)
      await off(own.id)
      expect(await fixed(channel, 'cobrança', mine.token)).toEqual([null, null])
      // A templateId, and the same word as a name.
      const byOwnId = await make({ nome: 'x', templateId: 'aviso' })
      await make({ nome: 'aviso' })
      await off(byOwnId.id)
      expect(await fixed(channel, 'aviso', mine.token)).toEqual([null, null])
      // A template of the test mode, and the one of the account.
      const { token: trial } = await issueToken(database.pool, mine.id, { mode: 'test' })
      const live = await make({ nome: 'lembrete' })
      const tried = await make({ nome: 'lembrete' }, trial)
      await off(tried.id, trial)
      expect(await fixed(channel, 'lembrete', trial)).toEqual([null, null])
      expect(await fixed(channel, 'lembrete', mine.token)).toEqual([live.id, 1])
    },
  )

  test('a UUID in upper case is the same UUID', async () => {
    const { id } = await create({ tipo: 'carta' })
    expect(await fixed('letter', id.toUpperCase(), owner.token)).toEqual([id, 1])
  })

  test('names and templateIds count as written', async () => {
    const { id } = await create({ tipo: 'carta', nome: 'Escrito Assim' })
    expect(await fixed('letter', 'Escrito Assim', owner.token)).toEqual([id, 1])
    expect(await fixed('letter', 'escrito assim', owner.token)).toEqual([null, null])
  })

  test('of two with one templateId the newest active one counts', async () => {
    const first = await create({ tipo: 'voz', templateId: 'repetido' })
    const newest = await create({ tipo: 'voz', templateId: 'repetido' })
    expect(await fixed('voice', 'repetido', owner.token)).toEqual([newest.id, 1])
    await setActive(newest.id, false)
    expect(await fixed('voice', 'repetido', owner.token)).toEqual([first.id, 1])
  })

  test('an edit counts for the next send: a new version, another name, an inactive one', async () => {
    const { id } = await create({ tipo: 'voz', nome: 'editado' })
    expect(await fixed('voice', 'editado', owner.token)).toEqual([id, 1])
    await edit(id, { conteudo: 'Outro texto, {{ nome }}.' })
    expect(await fixed('voice', 'editado', owner.token)).toEqual([id, 2])
    await edit(id, { nome: 'renomeado' })
    expect(await fixed('voice', 'editado', owner.token)).toEqual([null, null])
    expect(await fixed('voice', 'renomeado', owner.token)).toEqual([id, 2])
    await setActive(id, false)
    expect(await fixed('voice', 'renomeado', owner.token)).toEqual([null, null])
  })

  test("another channel's template, an unshared one and one of another entity are not meant", async () => {
    const letter = await create({ tipo: 'carta', nome: 'so-carta' })
    expect(await fixed('voice', 'so-carta', owner.token)).toEqual([null, null])
    expect(await fixed('voice', letter.id, owner.token)).toEqual([null, null])
    expect(await fixed('letter', 'so-carta', sibling.token)).toEqual([null, null])
    expect(await fixed('letter', letter.id, sibling.token)).toEqual([null, null])
    const foreign = await create({ tipo: 'carta', nome: 'de-fora', compartilhadoComEntidade: true }, stranger.token)
    expect(await fixed('letter', 'de-fora', owner.token)).toEqual([null, null])
    expect(await fixed('letter', foreign.id, owner.token)).toEqual([null, null])
  })

  test('the version is fixed at the acceptance, and a later edit counts for later sends', async () => {
    const { id } = await create({ tipo: 'carta', nome: 'versões' })
    const before = await send(gateway.url, owner.token, { ...validSend, carta: { template: 'versões' } })
    await edit(id, { conteudo: 'outro' })
    expect(await fixed('letter', 'versões', owner.token)).toEqual([id, 2])
    const stored = await readStored(database.pool, (before.body as { idEmail: string }).idEmail)
    expect(stored!.deliveries.find(({ channel }) => channel === 'letter')).toMatchObject({ template_id: id, template_version: 1 })
  })
})

describe('carteiro template', () => {
  test('creates, edits, shows, lists and deactivates what the API then serves', async () => {
    const data = dataFolder()
    const run = (...args: string[]) => runCommand(['template', ...args], database.url)
    const succeeded = async (...args: string[]): Promise<string> => {
      const { status, stdout, stderr } = await run(...args)
      expect([status, stderr]).toEqual([0, ''])
      return stdout
    }
    const account = await createAccount(database.pool, { name: 'linha-de-comando' })
    const file = join(data, 'conteudo.liquid')
    writeFileSync(file, 'Olá, {{ nome }}')
    const create = ['create', '--account', 'linha-de-comando', '--name', 'aviso', '--channel', 'carta', '--file', file]
    const made = JSON.parse(await succeeded(...create, '--template-id', 'c-1', '--shared', '--json')) as { id: string }
    expect(await read(made.id, account.token)).toMatchObject({
      nome: 'aviso',
      tipo: 'carta',
      templateId: 'c-1',
      compartilhadoComEntidade: true,
      conteudo: 'Olá, {{ nome }}',
      criadoPor: 'linha-de-comando',
    })

    writeFileSync(file, 'Prezada {{ nome }}, {{ assunto }}')
    const chosen = ['--account', 'linha-de-comando', made.id]
    await succeeded('edit', ...chosen, '--file', file, '--no-shared')
    expect(await succeeded('show', ...chosen, '--revision', '1')).toBe('Olá, {{ nome }}\n')
    expect(await read(made.id, account.token)).toMatchObject({ versao: 2, compartilhadoComEntidade: false, nome: 'aviso' })

    await succeeded('deactivate', ...chosen)
    expect(JSON.parse(await succeeded('list', '--account', 'linha-de-comando', '--json'))).toEqual([
      {
        id: made.id,
        name: 'aviso',
        mode: 'live',
        channel: 'carta',
        templateId: 'c-1',
        version: 2,
        active: false,
        shared: false,
      },
    ])
    expect(await read(made.id, account.token)).toMatchObject({ ativo: false })

    writeFileSync(file, '{% if %}')
    for (const [refused, message] of [
      [await run('edit', ...chosen, '--file', file), /não é um Liquid válido/],
      [await run('edit', '--account', 'dona', made.id, '--name', 'meu'), /não tem permissão/],
      [await run('show', '--account', 'dona', 'nada'), /deve ser um UUID/],
    ] as const) {
      expect([refused.status, refused.stdout]).toEqual([1, ''])
      expect(refused.stderr).toMatch(message)
    }
    expect(await read(made.id, account.token)).toMatchObject({ versao: 2, nome: 'aviso' })
  })
})
