import { createHmac, randomBytes, scryptSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Channel } from '../../src/domain/channel.js'
import { sha256 } from '../../src/domain/evidence/evidence.js'
import { newId } from '../../src/domain/id.js'
import { createDatabase, databaseForTest, type TestDatabase } from '../support/database/database.js'
import { chainFault, countRows, readStored, type Stored } from '../support/database/stored.js'
import {
  createAccount,
  type Gateway,
  gatewayForTest,
  issueToken,
  startGateway,
  type TestAccount,
  testKeys,
} from '../support/gateway/gateway.js'
import { errorBody, send, validSend } from '../support/gateway/requests.js'

let database: TestDatabase
let gateway: Gateway
/** Without the enablement for validation. */
let account: TestAccount
let enabled: TestAccount

beforeAll(async () => {
  database = await createDatabase()
  gateway = await startGateway(database.pool)
  account = await createAccount(database.pool, { entity: 'Grupo' })
  enabled = await createAccount(database.pool, { settings: { validation: true, 'fallback.minutes': 7 } })
})

afterAll(async () => {
  await gateway.close()
  await database.drop()
})

/** Sends, expects 200, and reads what is stored; the chain of events must be whole. */
async function accepted(body: unknown, token = account.token): Promise<Stored> {
  const answer = await send(gateway.url, token, body)
  expect(answer.body).toEqual({ idEmail: expect.any(String) })
  expect(answer.status).toBe(200)
  const stored = await readStored(database.pool, (answer.body as { idEmail: string }).idEmail)
  expect(stored).not.toBe(null)
  expect(chainFault(stored!)).toBe(null)
  return stored!
}

const reasons: Record<number, string> = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 413: 'Payload Too Large' }

/** Sends, expects the refusal with exactly the three members of section 7, and that nothing was stored. */
async function refused(body: unknown, message: string | RegExp, status = 400, token = account.token): Promise<void> {
  const before = await countRows(database.pool)
  const answer = await send(gateway.url, token, body)
  const expected = typeof message === 'string' ? message : expect.stringMatching(message)
  expect(answer.body).toEqual(errorBody(status, expected, reasons[status]!))
  expect(answer.status).toBe(status)
  expect(await countRows(database.pool)).toEqual(before)
}

const { to: _, ...withoutTo } = validSend
const without = (field: keyof typeof validSend): object => {
  const { [field]: _, ...rest } = validSend
  return rest
}
const delivery = (stored: Stored, channel: Channel) => stored.deliveries.find(row => row.channel === channel)
const aboutField = (field: string): RegExp => new RegExp(`campo ${field.replace(/[.[\]]/g, '\\$&')} `)

describe('2.4 and 4 the answer', () => {
  test('2.4 a send answers 200 with idEmail, a UUID, and nothing else', async () => {
    const { status, body, headers } = await send(gateway.url, account.token, validSend)
    expect(body).toEqual({
      idEmail: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
  })

  test('1 the id bears the moment of acceptance, and every send has its own', async () => {
    const [one, two] = await Promise.all([accepted(validSend), accepted(validSend)])
    expect(one.notification.id).not.toBe(two.notification.id)
    const { id, accepted_at } = one.notification
    expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(accepted_at.getTime())
  })

  test('4 the path may end in a slash', async () => {
    const answer = await fetch(`${gateway.url}/gw/email/`, {
      method: 'POST',
      headers: { authorization: account.token, 'content-type': 'application/json' },
      body: JSON.stringify(validSend),
    })
    expect(answer.status).toBe(200)
  })

  test('4 the answer comes only after the notification, its deliveries, attachments and first event are committed', async () => {
    const stored = await accepted({
      ...validSend,
      customID: 'contrato-4711',
      attachments: [{ name: 'a.txt', base64: 'YWJj' }],
      sms: { number: '11987654321' },
      whatsapp: { number: '11987654321' },
      voz: { number: '1133334444' },
      carta: {},
    })
    expect(stored.notification).toMatchObject({
      account_id: account.id,
      mode: 'live',
      custom_id: 'contrato-4711',
      recipient_name: validSend.nameTo,
      subject: validSend.subject,
      content: validSend.content,
      validation: null,
    })
    expect(stored.deliveries.map(row => [row.channel, row.state, row.account_id, row.mode, row.attempt])).toEqual([
      ['email', 'queued', account.id, 'live', 0],
      ['letter', 'queued', account.id, 'live', 0],
      ['sms', 'waiting', account.id, 'live', 0],
      ['voice', 'queued', account.id, 'live', 0],
      ['whatsapp', 'queued', account.id, 'live', 0],
    ])
    expect(stored.attachments).toHaveLength(1)
    expect(stored.events).toHaveLength(1)
  })

  test('the first event says what was asked, by whom and from where, and its chain is whole', async () => {
    const stored = await accepted({
      ...validSend,
      customID: 'contrato-4712',
      attachments: [{ name: 'a.txt', base64: 'YWJj' }],
      sms: { number: '11987654321' },
    })
    const [event] = stored.events
    expect(event).toMatchObject({ seq: 1, type: 'accepted', source: 'api', prev: '0'.repeat(64) })
    expect(event!.at).toBe(stored.notification.accepted_at.toISOString())
    expect(event!.data).toEqual({
      account: account.id,
      mode: 'live',
      token: account.jti,
      address: '127.0.0.1',
      customId: 'contrato-4712',
      recipientName: validSend.nameTo,
      subject: validSend.subject,
      contentSha256: sha256(validSend.content),
      attachments: [{ name: 'a.txt', sha256: sha256('abc'), size: 3 }],
      deliveries: [
        {
          channel: 'email',
          recipient: validSend.to,
          state: 'queued',
          waitMs: 0,
          step: 1,
          condition: 'always',
          requestSha256: sha256('{}'),
          template: null,
        },
        {
          channel: 'sms',
          recipient: '+5511987654321',
          state: 'waiting',
          waitMs: 1_800_000,
          step: -1,
          condition: 'not delivered',
          requestSha256: sha256('{"always":false,"customMessage":null}'),
          template: null,
        },
      ],
    })
    expect(event!.salt).toHaveLength(16)
  })

  test('two equal sends have different salts, so that equal data does not show', async () => {
    const [one, two] = [await accepted(validSend), await accepted(validSend)]
    expect(one.events[0]!.salt).not.toEqual(two.events[0]!.salt)
    expect(one.events[0]!.commit).not.toBe(two.events[0]!.commit)
  })

  test('many sends at once, good and bad, each get their own answer', async () => {
    const before = await countRows(database.pool)
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        send(gateway.url, account.token, index % 4 === 3 ? without('subject') : { ...validSend, subject: `Envio ${index}` }),
      ),
    )
    await Promise.all(
      answers.map(async ({ status, body }, index) => {
        expect(status).toBe(index % 4 === 3 ? 400 : 200)
        if (status !== 200) return
        const stored = await readStored(database.pool, (body as { idEmail: string }).idEmail)
        expect(stored!.notification.subject).toBe(`Envio ${index}`)
        expect(chainFault(stored!)).toBe(null)
      }),
    )
    const after = await countRows(database.pool)
    expect(after.notification! - before.notification!).toBe(150)
    expect(after.event! - before.event!).toBe(150)
  })
})

describe('2.1 required texts', () => {
  for (const field of ['nameTo', 'subject', 'content'] as const) {
    test(`2.1 ${field} missing is 400`, () => refused(without(field), aboutField(field)))
    test.each([null, '', ' ', '\n\t', '\u00a0', '\u200b\u2060', 5, true, {}, [], ['a']])(`2.1 ${field} of %j is 400`, value =>
      refused({ ...validSend, [field]: value }, aboutField(field)),
    )
  }

  test.each(['<p></p>', '<p>&nbsp;</p>\n<br>', '<style>p{color:red}</style>', '<!-- nada -->', '<img alt="logo">'])(
    '2.1 content that shows nothing (%j) is 400',
    content => refused({ ...validSend, content }, aboutField('content')),
  )

  test('2.1 an image is content', async () => {
    const content = '<p><img src="https://example.com/aviso.png"></p>'
    expect((await accepted({ ...validSend, content })).notification).toMatchObject({ content })
  })

  test('2.1 a send without anything names the first missing field', () => refused({}, aboutField('nameTo')))

  test.each(['nameTo', 'subject'])('2.1 %s with a line break or control character is 400', async field => {
    for (const odd of ['\r\n', '\n', '\r', '\u0007', '\u007f', '\u0085', '\u2028', '\u2029'])
      await refused({ ...validSend, [field]: `Aviso${odd}Bcc: x@example.com` }, aboutField(field))
  })

  test('2.1 content may have line breaks, and all texts any letter, kept as written', async () => {
    const texts = {
      nameTo: 'Zoë Ñandú 李小龍 🦜',
      subject: ' Aviso — nº 1 “urgente” ',
      content: '<p>a\r\nb\tc</p>\u2028<script>alert(1)</script>',
    }
    const { notification } = await accepted({ ...validSend, ...texts })
    expect(notification).toMatchObject({ recipient_name: texts.nameTo, subject: texts.subject, content: texts.content })
  })
})

describe('2.1 to', () => {
  test('2.1 to missing while no other channel is present is 400', () => refused(withoutTo, aboutField('to')))

  test.each([null, ''])('2.1 to of %j counts as absent', async to => {
    await refused({ ...validSend, to }, aboutField('to'))
    const stored = await accepted({ ...validSend, to, sms: { number: '11987654321' } })
    expect(delivery(stored, 'email')).toBe(undefined)
  })

  test.each(['sms', 'whatsapp', 'voz', 'carta'])('2.1 to missing and %s null is 400', channel =>
    refused({ ...withoutTo, [channel]: null }, aboutField('to')),
  )

  test.each([
    ['sms', { number: '11987654321' }, 'sms'],
    ['whatsapp', { number: '11987654321' }, 'whatsapp'],
    ['voz', { number: '11987654321' }, 'voice'],
    ['carta', {}, 'letter'],
  ])('2.1 to may be missing where %s is present; there is then no e-mail delivery', async (member, channel, name) => {
    const stored = await accepted({ ...withoutTo, [member]: channel })
    expect(stored.deliveries.map(row => [row.channel, row.state])).toEqual([[name, 'queued']])
  })

  test.each([
    ' ',
    'maria',
    'maria@',
    '@example.com',
    'maria@localhost',
    'a@b.com, c@d.com',
    'a@b.com;c@d.com',
    'Maria <maria@example.com>',
    'maria@example.com\r\nBcc: x@example.com',
    ' maria@example.com',
    'maria@example.com ',
    'maria@127.0.0.1',
    `a@${'a.'.repeat(50_000)}`,
  ])('2.1 to of %j is 400', to => refused({ ...validSend, to }, aboutField('to')))

  test.each([5, true, {}, ['maria@example.com']])('2.1 to of the wrong type (%j) is 400', to =>
    refused({ ...validSend, to }, aboutField('to')),
  )

  test('2.1 a bad to is 400 also where another channel is present', () =>
    refused({ ...validSend, to: 'maria', sms: { number: '11987654321' } }, aboutField('to')))

  test('2.1 the domain of to is kept in lower-case ASCII, the rest as written', async () => {
    const stored = await accepted({ ...validSend, to: 'Maria.Silva@AÇAÍ.com.br' })
    expect(delivery(stored, 'email')!.recipient).toBe('Maria.Silva@xn--aa-4iaz.com.br')
  })
})

describe('2.1 customID', () => {
  test('2.1 customID is kept as written', async () => {
    expect((await accepted({ ...validSend, customID: ' Nº 4711/é ' })).notification.custom_id).toBe(' Nº 4711/é ')
  })

  test.each([{}, { customID: null }])('2.1 %j is a send without customID', async extra => {
    expect((await accepted({ ...validSend, ...extra })).notification.custom_id).toBe(null)
  })

  test('2.1 customID of 255 characters passes, counted as code points; of 256 is 400', async () => {
    for (const letter of ['a', 'ã', '🦜']) {
      expect((await accepted({ ...validSend, customID: letter.repeat(255) })).notification.custom_id).toBe(letter.repeat(255))
      await refused({ ...validSend, customID: letter.repeat(256) }, /campo customID .*255/)
    }
  })

  test.each([5, true, {}, ['a']])('2.1 customID of the wrong type (%j) is 400', customID =>
    refused({ ...validSend, customID }, aboutField('customID')),
  )
})

const MIB = 1_048_576
const file = (bytes: number, fill: number, name = `${fill}.bin`) => ({
  name,
  base64: Buffer.alloc(bytes, fill).toString('base64'),
})

describe('2.2 attachments', () => {
  test('2.2 files are kept in order, under their names, with their bytes and hashes', async () => {
    const stored = await accepted({
      ...validSend,
      attachments: [
        { name: 'segundo.txt', base64: Buffer.from('dois').toString('base64') },
        { name: 'primeiro ção.txt', base64: Buffer.from('um').toString('base64') },
      ],
    })
    expect(stored.attachments).toEqual([
      { ordinal: 1, name: 'segundo.txt', sha256: sha256('dois'), size: 4, bytes: Buffer.from('dois') },
      { ordinal: 2, name: 'primeiro ção.txt', sha256: sha256('um'), size: 2, bytes: Buffer.from('um') },
    ])
  })

  test('2.2 the same content is stored once, in one send and across sends and accounts', async () => {
    const before = (await countRows(database.pool)).blob!
    const twice = [file(1_000, 200, 'a.bin'), file(1_000, 200, 'b.bin')]
    const one = await accepted({ ...validSend, attachments: twice })
    const two = await accepted({ ...validSend, attachments: [file(1_000, 200, 'c.bin')] }, enabled.token)
    expect((await countRows(database.pool)).blob! - before).toBe(1)
    expect(one.attachments.map(row => row.name)).toEqual(['a.bin', 'b.bin'])
    expect(new Set([...one.attachments, ...two.attachments].map(row => row.sha256)).size).toBe(1)
  })

  test('2.2 the same new content in many sends at once is stored once, and every send is accepted', async () => {
    const before = (await countRows(database.pool)).blob!
    const attachments = [file(5_000, 201), file(5_000, 202), file(5_000, 203)]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        send(gateway.url, account.token, {
          ...validSend,
          attachments: index % 2 === 0 ? attachments : [...attachments].reverse(),
        }),
      ),
    )
    expect(answers.map(answer => answer.status)).toEqual(Array(20).fill(200))
    expect((await countRows(database.pool)).blob! - before).toBe(3)
  })

  test.each([{}, { attachments: null }, { attachments: [] }])('2.2 %j is a send without attachments', async extra => {
    expect((await accepted({ ...validSend, ...extra })).attachments).toEqual([])
  })

  test.each([
    ['{}', {}, 'attachments'],
    ['a text', 'YWJj', 'attachments'],
    ['a list of texts', ['YWJj'], 'attachments[0]'],
    ['a list of null', [null], 'attachments[0]'],
    ['a list of lists', [[]], 'attachments[0]'],
    ['a file without name', [{ base64: 'YWJj' }], 'attachments[0].name'],
    ['a file without base64', [{ name: 'a' }], 'attachments[0].base64'],
    ['an empty name', [{ name: '', base64: 'YWJj' }], 'attachments[0].name'],
    ['an invisible name', [{ name: '\u200b\u2060', base64: 'YWJj' }], 'attachments[0].name'],
    ['a blank name', [{ name: ' ', base64: 'YWJj' }], 'attachments[0].name'],
    ['an empty base64', [{ name: 'a', base64: '' }], 'attachments[0].base64'],
    ['a null name', [{ name: null, base64: 'YWJj' }], 'attachments[0].name'],
    ['a null base64', [{ name: 'a', base64: null }], 'attachments[0].base64'],
    ['a number as name', [{ name: 5, base64: 'YWJj' }], 'attachments[0].name'],
    ['bytes as a list', [{ name: 'a', base64: [97] }], 'attachments[0].base64'],
    ['a second file that does not decode', [file(1, 1), { name: 'a', base64: 'YW*j' }], 'attachments[1].base64'],
    ['unpadded base64', [{ name: 'a', base64: 'YQ' }], 'attachments[0].base64'],
    ['URL-safe base64', [{ name: 'a', base64: '-_-_' }], 'attachments[0].base64'],
    ['a name with a path', [{ name: '../../etc/passwd', base64: 'YWJj' }], 'attachments[0].name'],
    ['a name with a Windows path', [{ name: 'C:\\a.txt', base64: 'YWJj' }], 'attachments[0].name'],
    ['a name with a line break', [{ name: 'a\r\nb', base64: 'YWJj' }], 'attachments[0].name'],
    ['a name with a right-to-left override', [{ name: 'a\u202efdp.exe', base64: 'YWJj' }], 'attachments[0].name'],
  ])('2.2 attachments with %s is 400', (_, attachments, field) => refused({ ...validSend, attachments }, aboutField(field)))

  test('2.2 a data: prefix is 400 with a message that says so', () =>
    refused(
      { ...validSend, attachments: [{ name: 'a.pdf', base64: 'data:application/pdf;base64,YWJj' }] },
      /attachments\[0\]\.base64 .*data:/,
    ))

  test('2.2 line breaks in base64 are fine', async () => {
    const stored = await accepted({ ...validSend, attachments: [{ name: 'a.txt', base64: 'YW\r\nJj\r\n' }] })
    expect(stored.attachments[0]!.bytes).toEqual(Buffer.from('abc'))
  })

  test('8 ten files pass, eleven are 400', async () => {
    const ten = Array.from({ length: 10 }, (_, index) => file(10, index))
    expect((await accepted({ ...validSend, attachments: ten })).attachments).toHaveLength(10)
    await refused({ ...validSend, attachments: [...ten, file(10, 99)] }, /attachments .*10 arquivos/)
  })

  test('8 a file of 10 MiB passes, one byte more is 400', async () => {
    const stored = await accepted({ ...validSend, attachments: [file(10 * MIB, 1)] })
    expect(stored.attachments.map(row => [row.size, row.bytes.length])).toEqual([[10 * MIB, 10 * MIB]])
    expect(sha256(stored.attachments[0]!.bytes)).toBe(stored.attachments[0]!.sha256)
    await refused({ ...validSend, attachments: [file(10 * MIB + 1, 2)] }, /attachments\[0\]\.base64 .*10 MiB/)
  })

  test('8 files of 25 MiB in all pass, one byte more is 400', async () => {
    const most = [file(10 * MIB, 1), file(10 * MIB, 3)]
    expect((await accepted({ ...validSend, attachments: [...most, file(5 * MIB, 4)] })).attachments).toHaveLength(3)
    await refused({ ...validSend, attachments: [...most, file(5 * MIB + 1, 5)] }, /attachments .*25 MiB/)
  })

  test('8 the limits are settings', async () => {
    const strict = await gatewayForTest(database.pool, {
      MAX_ATTACHMENTS: '2',
      MAX_ATTACHMENT_MIB: '1',
      MAX_ATTACHMENTS_MIB: '1',
      MAX_BODY_MIB: '2',
    })
    const ask = async (attachments: object[]) => {
      const { status, body } = await send(strict.url, account.token, { ...validSend, attachments })
      return [status, (body as { message?: string }).message]
    }
    expect(await ask([file(MIB / 2, 6), file(MIB / 2, 7)])).toEqual([200, undefined])
    expect(await ask([file(1, 1), file(1, 2), file(1, 3)])).toEqual([400, expect.stringContaining('2 arquivos')])
    expect(await ask([file(MIB + 1, 1)])).toEqual([400, expect.stringContaining('1 MiB')])
    expect(await ask([file(MIB / 2, 6), file(MIB / 2 + 1, 7)])).toEqual([400, expect.stringContaining('1 MiB')])
    expect(await ask([file(2 * MIB, 6)])).toEqual([413, expect.stringContaining('2 MiB')])
  })
})

describe('2.1 validation', () => {
  const validation = { question: 'Qual é o nome do seu primeiro cão?', reply: 'Xodó do Sertão 42' }

  test('2.1 validation without enablement of the account is 403, in Portuguese', () =>
    refused({ ...validSend, validation }, /não tem permissão para usar validation/, 403))

  test('2.1 the 403 tells where to ask for the enablement', async () => {
    const other = await gatewayForTest(database.pool, { SUPPORT_EMAIL: 'ajuda@example.com' })
    const { status, body } = await send(other.url, account.token, { ...validSend, validation })
    expect([status, body]).toEqual([403, errorBody(403, expect.stringContaining('ajuda@example.com'), 'Forbidden')])
  })

  test('2.1 a validation of null counts as absent', async () => {
    expect((await accepted({ ...validSend, validation: null })).notification.validation).toBe(null)
  })

  test.each([
    ['{}', {}, 'validation.question'],
    ['no question', { reply: 'a' }, 'validation.question'],
    ['no reply', { question: 'a' }, 'validation.reply'],
    ['an invisible question', { question: '\u2060', reply: 'a' }, 'validation.question'],
    ['a blank question', { question: ' ', reply: 'a' }, 'validation.question'],
    ['a blank reply', { question: 'a', reply: ' ' }, 'validation.reply'],
    ['a null reply', { question: 'a', reply: null }, 'validation.reply'],
    ['a reply of punctuation alone', { question: 'a', reply: '?!…' }, 'validation.reply'],
    ['a number as reply', { question: 'a', reply: 42 }, 'validation.reply'],
    ['an object as question', { question: {}, reply: 'a' }, 'validation.question'],
    ['a text', 'a', 'validation'],
    ['a list', [], 'validation'],
    ['true', true, 'validation'],
  ])('2.1 validation with %s is 400', async (_, value, field) => {
    await refused({ ...validSend, validation: value }, aboutField(field), 400, enabled.token)
    await refused({ ...validSend, validation: value }, aboutField(field))
  })

  test('2.1 the question is stored, of the reply only a salted and peppered hash', async () => {
    const stored = await accepted({ ...validSend, validation }, enabled.token)
    const { question, salt, hash } = stored.notification.validation!
    expect(question).toBe(validation.question)
    const peppered = createHmac('sha256', testKeys.pepper).update('xododosertao42').digest()
    expect(hash).toBe(scryptSync(peppered, Buffer.from(salt, 'base64'), 32, { N: 16_384, r: 8, p: 1 }).toString('base64'))
    expect(Object.keys(stored.notification.validation!).sort()).toEqual(['hash', 'question', 'salt'])
  })

  test('2.1 the reply is in no table of the database, in no form that can be read', async () => {
    const own = await databaseForTest()
    const other = await gatewayForTest(own.pool)
    const { token } = await createAccount(own.pool, { settings: { validation: true } })
    const body = { ...validSend, validation, sms: { number: '11987654321' } }
    expect((await send(other.url, token, body, { 'idempotency-key': 'a' })).status).toBe(200)
    const forms = [validation.reply, 'xododosertao42']
    const needles = forms.flatMap(form => [
      form,
      Buffer.from(form).toString('hex'),
      Buffer.from(form).toString('base64').replace(/=+$/, ''),
      sha256(form),
    ])
    const tables = await own.pool.query<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    )
    expect(tables.rows.length).toBeGreaterThan(15)
    const find = async (needle: string): Promise<string[]> => {
      const found: string[] = []
      for (const { name } of tables.rows) {
        const { rows } = await own.pool.query<{ hits: number }>(
          `select count(*) as hits from "${name}" t where strpos(lower(t::text), lower($1)) > 0`,
          [needle],
        )
        if (rows[0]!.hits > 0) found.push(name)
      }
      return found
    }
    // The search itself finds what is there.
    expect(await find('primeiro cão')).toContain('notification')
    for (const needle of needles) expect([needle, await find(needle)]).toEqual([needle, []])
  })
})

const BAD_NUMBER = 'Número do destinatário inválido. Verifique o número informado.'
/** The sentence of section 7, then the field and the cause. */
const badNumber = (field: string, cause: string) => new RegExp(`^${BAD_NUMBER} O campo ${field.replace('.', '\\.')} .*${cause}`)

describe('2.3 and 4 rule 3: numbers', () => {
  for (const channel of ['sms', 'whatsapp', 'voz']) {
    test.each([
      ['missing', undefined, 'obrigatório'],
      ['null', null, 'entre aspas'],
      ['empty', '', 'obrigatório'],
      ['with a mask', '(11) 99999-8888', 'máscara'],
      ['with a mask and country', '+55 (11) 99999-8888', 'máscara'],
      ['with a space', '11 999998888', 'máscara'],
      ['with a hyphen', '119999-98888', 'máscara'],
      ['with letters', '1199999888a', 'máscara'],
      ['of an area code that does not exist', '20999998888', 'confira o DDD'],
      ['too short', '999998888', 'dígitos de menos'],
      ['of one digit', '1', 'dígitos de menos'],
      ['of a mobile without its ninth digit', '1199998888', 'nono dígito'],
      ['of such a mobile with its country', '+551199998888', 'nono dígito'],
      ['too long', '551199999888877', 'confira o DDD'],
      ['with a trunk zero', '011999998888', 'confira o DDD'],
      ['of a form that does not exist', '11899998888', 'confira o DDD'],
      ['of a country that does not exist', '+999123456789', 'confira o DDD'],
      ['a number', 11_999_998_888, 'entre aspas'],
      ['a list', ['11999998888'], 'entre aspas'],
      ['an object', {}, 'entre aspas'],
      ['true', true, 'entre aspas'],
    ])(`2.3 and 7 ${channel}.number %s is 400 and says why`, (_, number, cause) =>
      refused({ ...validSend, [channel]: { number } }, badNumber(`${channel}.number`, cause)),
    )
  }

  test.each([
    ['11999998888', '+5511999998888'],
    ['5511999998888', '+5511999998888'],
    ['+5511999998888', '+5511999998888'],
    ['14155552671', '+14155552671'],
    ['+351912345678', '+351912345678'],
  ])('2.3 the mobile number %s is stored as %s, in every channel that takes it', async (number, e164) => {
    const stored = await accepted({ ...validSend, sms: { number }, whatsapp: { number }, voz: { number } })
    expect(stored.deliveries.filter(row => row.channel !== 'email').map(row => row.recipient)).toEqual([e164, e164, e164])
  })

  test.each(['1133334444', '4740401234', '+442079460958'])(
    '2.3 the fixed line %s can be called; SMS and WhatsApp are 400',
    async number => {
      const stored = await accepted({ ...validSend, voz: { number } })
      expect(delivery(stored, 'voice')!.recipient).toBe(number.startsWith('+') ? number : `+55${number}`)
      await refused({ ...validSend, sms: { number } }, badNumber('sms.number', 'telefone fixo'))
      await refused({ ...validSend, whatsapp: { number } }, badNumber('whatsapp.number', 'telefone fixo'))
    },
  )
})

describe('2.3 sms', () => {
  const number = '11987654321'

  test("2.3 typeSend '1' with an e-mail waits for it, at most as long as the account's window", async () => {
    const standard = await accepted({ ...validSend, sms: { number, typeSend: '1' } })
    expect(delivery(standard, 'sms')).toMatchObject({ state: 'waiting', condition: 'not delivered', waitMs: 30 * 60_000 })
    expect(delivery(standard, 'email')).toMatchObject({ state: 'queued', condition: 'always', waitMs: 0 })
    const own = await accepted({ ...validSend, sms: { number, typeSend: '1' } }, enabled.token)
    expect(delivery(own, 'sms')).toMatchObject({ state: 'waiting', condition: 'not delivered', waitMs: 7 * 60_000 })
  })

  test.each([{}, { typeSend: null }])("2.3 typeSend absent (%j) is '1'", async extra => {
    const stored = await accepted({ ...validSend, sms: { number, ...extra } })
    expect(delivery(stored, 'sms')).toMatchObject({
      state: 'waiting',
      waitMs: 30 * 60_000,
      request: { always: false, customMessage: null },
    })
  })

  test("2.3 typeSend '2' is sent at once, with an e-mail or without", async () => {
    for (const body of [validSend, withoutTo]) {
      const stored = await accepted({ ...body, sms: { number, typeSend: '2' } })
      expect(delivery(stored, 'sms')).toMatchObject({
        state: 'queued',
        condition: 'always',
        waitMs: 0,
        request: { always: true },
      })
    }
  })

  test("2.3 typeSend '1' without an e-mail is sent at once", async () => {
    const stored = await accepted({ ...withoutTo, sms: { number, typeSend: '1' } })
    expect(delivery(stored, 'sms')).toMatchObject({ state: 'queued', condition: 'always', waitMs: 0, request: { always: false } })
    expect(await dueIn(stored, 'sms')).toBeLessThanOrEqual(0)
  })

  test('2.3 a waiting SMS is not due yet, its e-mail is', async () => {
    const stored = await accepted({ ...validSend, sms: { number } })
    expect(await dueIn(stored, 'sms')).toBeGreaterThan(25 * 60)
    expect(await dueIn(stored, 'email')).toBeLessThanOrEqual(0)
  })

  /** Seconds until a delivery is due, by the database's clock. */
  async function dueIn({ notification }: Stored, channel: Channel): Promise<number> {
    const { rows } = await database.pool.query<{ seconds: number }>(
      'select extract(epoch from due_at - now())::double precision as seconds from delivery where notification_id = $1 and channel = $2',
      [notification.id, channel],
    )
    return rows[0]!.seconds
  }

  test.each(['', '0', '3', '12', ' 1', 'um', 1, 2, true, {}, ['1']])('2.3 typeSend of %j is 400', typeSend =>
    refused(
      { ...validSend, sms: { number, typeSend } },
      "O campo sms.typeSend deve ser '1' (só se o e-mail não for entregue) ou '2' (sempre).",
    ),
  )

  test('2.3 and 8 customMessage of 140 characters passes, counted as code points; of 141 is 400', async () => {
    for (const letter of ['a', 'ç', '🦜']) {
      const stored = await accepted({ ...validSend, sms: { number, customMessage: letter.repeat(140) } })
      expect(delivery(stored, 'sms')!.request.customMessage).toBe(letter.repeat(140))
      await refused({ ...validSend, sms: { number, customMessage: letter.repeat(141) } }, /campo sms\.customMessage .*140/)
    }
  })

  test('2.3 the placeholder {SHORT_LINK} counts as its own text and is kept', async () => {
    const customMessage = `${'a'.repeat(127)} {SHORT_LINK}`
    const stored = await accepted({ ...validSend, sms: { number, customMessage } })
    expect(delivery(stored, 'sms')!.request.customMessage).toBe(customMessage)
    await refused({ ...validSend, sms: { number, customMessage: `a${customMessage}` } }, /campo sms\.customMessage .*140/)
  })

  test.each(['https://evil.example/?x={SHORT_LINK}', '{SHORT_LINK}.evil.example', 'Leia ({SHORT_LINK})', 'x\u200b{SHORT_LINK}'])(
    '2.3 customMessage with the link inside a longer word (%j) is 400',
    customMessage =>
      refused(
        { ...validSend, sms: { number, customMessage } },
        'No campo sms.customMessage, {SHORT_LINK} deve ficar sozinho: no início, no fim ou com um espaço de cada lado. Separe-o do resto do texto.',
      ),
  )

  test.each(['', ' ', '\n\t\u00a0', '\u200b', ' '.repeat(141)])('2.3 a blank customMessage (%j) is none', async customMessage => {
    const stored = await accepted({ ...validSend, sms: { number, customMessage } })
    expect(delivery(stored, 'sms')!.request.customMessage).toBeNull()
  })

  test.each([5, true, {}, ['a']])('2.3 customMessage of the wrong type (%j) is 400', customMessage =>
    refused({ ...validSend, sms: { number, customMessage } }, aboutField('sms.customMessage')),
  )
})

describe('2.3 channel objects', () => {
  const number = '11987654321'

  test.each(['sms', 'whatsapp', 'voz', 'carta'])('2.3 %s that is no object is 400; null counts as absent', async channel => {
    for (const value of ['a', '', 5, 0, true, false, [], [{}]])
      await refused({ ...validSend, [channel]: value }, aboutField(channel))
    expect((await accepted({ ...validSend, [channel]: null })).deliveries.map(row => row.channel)).toEqual(['email'])
  })

  test.each([
    ['whatsapp', 'variables', { number }],
    ['voz', 'payload', { number }],
    ['carta', 'variables', {}],
  ])('2.3 %s.%s that is no object is 400', async (channel, member, base) => {
    for (const value of ['a', '', 5, true, [], [{}]])
      await refused({ ...validSend, [channel]: { ...base, [member]: value } }, aboutField(`${channel}.${member}`))
  })

  test.each([
    ['voz', 'template', { number }],
    ['carta', 'name', {}],
    ['carta', 'modelo', {}],
    ['carta', 'template', {}],
  ])('2.3 %s.%s that is no text is 400', async (channel, member, base) => {
    for (const value of [5, true, {}, ['a']])
      await refused({ ...validSend, [channel]: { ...base, [member]: value } }, aboutField(`${channel}.${member}`))
  })

  test('2.3 carta.name of more than 255 characters is 400', async () => {
    const name = Array.from({ length: 256 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000))).join('')
    await refused({ ...validSend, carta: { name } }, /^O campo carta\.name .*255/)
    await refused({ ...validSend, carta: { name: randomBytes(10_000).toString('base64') } }, /^O campo carta\.name .*255/)
    const most = name.slice(0, 255)
    expect(delivery(await accepted({ ...validSend, carta: { name: most } }), 'letter')!.recipient).toBe(most)
  })

  test.each([
    ['whatsapp.variables.link', { link: 'https://evil.example/?x={SHORT_LINK}' }],
    ['whatsapp.variables.1', { 1: '{SHORT_LINK}/x' }],
    ['whatsapp.variables.cabecalho', { cabecalho: 'a{SHORT_LINK}' }],
  ])('2.3 a link inside a longer word is 400: %s', async (field, variables) => {
    await refused(
      { ...validSend, whatsapp: { number, variables: { template: 'aviso', ...variables } } },
      new RegExp(`^No campo ${field.replaceAll('.', '\\.')}, \\{SHORT_LINK\\} deve ficar sozinho`),
    )
    const alone = { template: 'aviso', link: 'Veja {SHORT_LINK}' }
    expect(delivery(await accepted({ ...validSend, whatsapp: { number, variables: alone } }), 'whatsapp')!.request).toEqual({
      template: 'aviso',
      variables: alone,
    })
  })

  test.each<[string, (variables: object) => object]>([
    ['variables', variables => ({ template: 'aviso', variables })],
    ['sms.variables', variables => ({ sms: { number, template: 'aviso', variables } })],
    ['whatsapp.variables', variables => ({ whatsapp: { number, variables: { template: 'aviso', ...variables } } })],
    ['voz.payload', payload => ({ voz: { number, template: 'aviso', payload } })],
    ['carta.variables', variables => ({ carta: { template: 'aviso', variables } })],
  ])('2.3 an object or a list among the values of %s is 400 and named', async (field, part) => {
    for (const value of [{}, [], { a: 1 }, ['x']])
      await refused(
        { ...validSend, ...part({ nome: 'Ana', itens: value }) },
        new RegExp(`^O campo ${field.replace('.', '\\.')}\\.itens não pode ser um objeto nem uma lista`),
      )
    await accepted({ ...validSend, ...part({ nome: 'Ana', valor: 1.5, sim: true, nada: null }) })
  })

  test('templates of e-mail and SMS are named at the top level and in sms, and fixed with their values', async () => {
    const stored = await accepted({
      ...validSend,
      template: 'aviso-email',
      variables: { nome: 'Ana' },
      sms: { number, typeSend: '2', template: 'aviso-sms', variables: { nome: 'Bia' } },
    })
    expect(delivery(stored, 'email')!.request).toEqual({ template: 'aviso-email', variables: { nome: 'Ana' } })
    expect(delivery(stored, 'sms')!.request).toMatchObject({ template: 'aviso-sms', variables: { nome: 'Bia' } })
    for (const value of [5, {}, ['a']]) {
      await refused({ ...validSend, template: value }, aboutField('template'))
      await refused({ ...validSend, sms: { number, template: value } }, aboutField('sms.template'))
    }
    await refused({ ...validSend, sms: { number, customMessage: 'Oi', template: 'x' } }, /sms\.customMessage ou sms\.template/)
    await refused({ ...validSend, template: 'x', variables: { l: 'a{SHORT_LINK}' } }, /No campo variables\.l, \{SHORT_LINK\}/)
    expect(delivery(await accepted({ ...validSend, template: null, variables: null }), 'email')!.request).toEqual({})
  })

  test('2.3 whatsapp.variables.template that is no text is 400', async () => {
    for (const template of [5, true, {}, ['a']])
      await refused({ ...validSend, whatsapp: { number, variables: { template } } }, aboutField('whatsapp.variables.template'))
  })

  test('2.3 free members are kept as they are', async () => {
    const free = {
      nome: 'Zoë 🦜',
      valor: 10.5,
      grande: 9_007_199_254_740_991,
      pequeno: 5e-324,
      nada: null,
      sim: true,
      constructor: 'x',
      'chave com espaço e "aspas"': '',
    }
    const stored = await accepted({
      ...validSend,
      whatsapp: { number, variables: { ...free, template: 'aviso' } },
      voz: { number, template: 'lembrete', payload: free },
      carta: { name: 'Maria', modelo: 'registrada', template: 'carta', variables: free },
    })
    expect(delivery(stored, 'whatsapp')!.request).toEqual({ template: 'aviso', variables: { ...free, template: 'aviso' } })
    expect(delivery(stored, 'voice')!.request).toEqual({ template: 'lembrete', payload: free })
    expect(delivery(stored, 'letter')).toMatchObject({
      recipient: 'Maria',
      request: { model: 'registrada', template: 'carta', variables: free },
    })
  })

  test('2.3 null in an optional member of a channel counts as absent', async () => {
    const bare = await accepted({ ...validSend, sms: { number }, whatsapp: { number }, voz: { number }, carta: {} })
    const nulls = await accepted({
      ...validSend,
      sms: { number, typeSend: null, customMessage: null },
      whatsapp: { number, variables: null },
      voz: { number, template: null, payload: null },
      carta: { name: null, modelo: null, template: null, variables: null },
    })
    expect(nulls.deliveries).toEqual(bare.deliveries)
  })

  test('2.3 unknown members are ignored, at the top and inside channels', async () => {
    const bare = await accepted({ ...validSend, sms: { number } })
    const more = await accepted({ ...validSend, id: 7, cc: ['x@example.com'], sms: { number, priority: 1, to: {} } })
    expect(more.deliveries).toEqual(bare.deliveries)
    expect(Object.keys(more.events[0]!.data)).toEqual(Object.keys(bare.events[0]!.data))
  })
})

describe('2.6 templates named by a send', () => {
  const number = '11987654321'
  const makeTemplate = async (
    owner: TestAccount,
    name: string,
    options: { externalId?: string; channel?: Channel; shared?: boolean; active?: boolean } = {},
  ): Promise<string> => {
    const id = newId(Date.now())
    await database.pool.query(
      `with made as (
         insert into template (id, account_id, mode, external_id, name, channel, shared, active) values ($1, $2, 'live', $3, $4, $5, $6, $7) returning id
       )
       insert into template_version (template_id, version, content, variables) select made.id, 1, 'Olá', '[]' from made`,
      [
        id,
        owner.id,
        options.externalId ?? null,
        name,
        options.channel ?? 'whatsapp',
        options.shared ?? false,
        options.active ?? true,
      ],
    )
    return id
  }
  const templateOf = async (template: string): Promise<[string | null, number | null]> => {
    const stored = await accepted({ ...withoutTo, whatsapp: { number, variables: { template } } })
    const { template_id, template_version } = stored.deliveries[0]!
    return [template_id, template_version]
  }

  test('the version is fixed at acceptance', async () => {
    const id = await makeTemplate(account, 'fixo')
    const before = await accepted({ ...withoutTo, whatsapp: { number, variables: { template: 'fixo' } } })
    await database.pool.query('update template set version = 2 where id = $1', [id])
    expect(await templateOf('fixo')).toEqual([id, 2])
    const again = await readStored(database.pool, before.notification.id)
    expect(again!.deliveries[0]).toMatchObject({ template_id: id, template_version: 1 })
    expect(before.events[0]!.data.deliveries).toMatchObject([{ template: { id, version: 1 } }])
  })

  test.each<[string, Channel, (template: string) => object]>([
    ['whatsapp', 'whatsapp', template => ({ whatsapp: { number, variables: { template } } })],
    ['voz', 'voice', template => ({ voz: { number, template } })],
    ['carta', 'letter', template => ({ carta: { template } })],
  ])('%s names a template of its own kind', async (_, channel, body) => {
    const id = await makeTemplate(account, `de-${channel}`, { channel })
    await makeTemplate(account, `de-${channel}`, { channel: 'email' })
    const stored = await accepted({ ...withoutTo, ...body(`de-${channel}`) })
    expect(stored.deliveries[0]).toMatchObject({ channel, template_id: id, template_version: 1 })
  })

  test('a name means the public UUID, in either case, then the own templateId, the own nome, then the shared ones', async () => {
    const sibling = await createAccount(database.pool, { entity: 'Grupo' })
    const sharedName = await makeTemplate(sibling, 'aviso', { shared: true })
    expect(await templateOf('aviso')).toEqual([sharedName, 1])
    const sharedExternal = await makeTemplate(sibling, 'outro', { externalId: 'aviso', shared: true })
    expect(await templateOf('aviso')).toEqual([sharedExternal, 1])
    const ownName = await makeTemplate(account, 'aviso')
    expect(await templateOf('aviso')).toEqual([ownName, 1])
    const ownExternal = await makeTemplate(account, 'mais um', { externalId: 'aviso' })
    expect(await templateOf('aviso')).toEqual([ownExternal, 1])
    expect(await templateOf(sharedName.toUpperCase())).toEqual([sharedName, 1])
  })

  test("another account's template counts only where it is shared, and only inside the entity", async () => {
    const sibling = await createAccount(database.pool, { entity: 'Grupo' })
    const stranger = await createAccount(database.pool, { entity: 'Estranhos' })
    const unshared = await makeTemplate(sibling, 'reservado')
    const foreign = await makeTemplate(stranger, 'alheio', { shared: true })
    for (const name of ['reservado', unshared, 'alheio', foreign]) expect(await templateOf(name)).toEqual([null, null])
  })

  test('a template that does not exist or is inactive is 200, and the name is kept for the status to tell', async () => {
    await makeTemplate(account, 'desligado', { active: false })
    for (const template of ['desligado', 'nunca-existiu', newId(Date.now()), '', "' or 1=1 --", 'x'.repeat(10_000)]) {
      const stored = await accepted({
        ...validSend,
        whatsapp: { number, variables: { template } },
        voz: { number, template },
        carta: { template },
      })
      for (const channel of ['whatsapp', 'voice', 'letter'] as const)
        expect(delivery(stored, channel)).toMatchObject({ state: 'queued', template_id: null, request: { template } })
    }
  })

  test('channels that name no template are 200, and so is a letter without an address', async () => {
    const stored = await accepted({ ...withoutTo, whatsapp: { number }, voz: { number }, carta: {} })
    expect(stored.deliveries.map(row => [row.channel, row.state, row.recipient, row.template_id])).toEqual([
      ['letter', 'queued', null, null],
      ['voice', 'queued', '+5511987654321', null],
      ['whatsapp', 'queued', '+5511987654321', null],
    ])
  })
})

describe('what no text may hold', () => {
  /** Above 256 KiB a body is read in a thread: the same rules hold there. */
  const sizes: [string, object][] = [
    ['small', validSend],
    ['large', { ...validSend, content: 'x'.repeat(300_000) }],
  ]
  const json = (body: object, extra: string): string => JSON.stringify(body).replace(/}$/, `,${extra}}`)

  test.each(sizes)('a good %s send passes', async (_, body) => {
    const stored = await accepted({ ...body, sms: { number: '11987654321' }, attachments: [{ name: 'a', base64: 'YWJj' }] })
    expect(stored.deliveries).toHaveLength(2)
    expect(stored.attachments[0]!.bytes).toEqual(Buffer.from('abc'))
  })

  test.each(sizes)('a bad field of a %s send is named', async (_, body) => {
    await refused({ ...body, subject: ' ' }, aboutField('subject'))
    await refused({ ...body, sms: { number: '1' } }, badNumber('sms.number', 'dígitos de menos'))
    await refused({ ...body, attachments: [{ name: 'a/b', base64: 'YWJj' }] }, aboutField('attachments[0].name'))
  })

  test.each(sizes)('__proto__ as a key is 400, at any depth (%s)', async (_, body) => {
    await refused(json(body, '"__proto__":{"to":"x@example.com"}'), /__proto__/)
    await refused(json(body, '"carta":{"variables":{"a":[{"__proto__":1}]}}'), /__proto__/)
    await refused(json(body, '"carta":{"variables":{"\\u005f_proto__":1}}'), /__proto__/)
  })

  test.each(sizes)('NUL and lone surrogates are 400, in texts and keys (%s)', async (_, body) => {
    for (const bad of ['\\u0000', '\\ud800', '\\udc00', '\\udc00\\ud800']) {
      await refused(json(body, `"customID":"a${bad}"`), /caracteres inválidos/)
      await refused(json(body, `"carta":{"variables":{"a${bad}":1}}`), /caracteres inválidos/)
      await refused(json(body, `"ignorado":["${bad}"]`), /caracteres inválidos/)
    }
  })

  test.each(sizes)('a surrogate pair in escapes is a letter like any other (%s)', async (_, body) => {
    expect((await accepted(json(body, '"customID":"\\ud83e\\udd9c"'))).notification.custom_id).toBe('🦜')
  })

  test.each(sizes)('32 levels pass, 33 are 400 (%s)', async (_, body) => {
    // The body, the unknown member and variables are three of them.
    const letter = (levels: number): string => `"desconhecido":{"variables":{"a":${'['.repeat(levels)}${']'.repeat(levels)}}}`
    expect((await accepted(json(body, letter(29)))).deliveries).toHaveLength(1)
    await refused(json(body, letter(30)), /32 níveis/)
    await refused(json(body, letter(7_000)), /32 níveis/)
  })

  test.each(sizes)('a number that cannot be kept is 400 (%s)', (_, body) =>
    refused(json(body, '"voz":{"number":"11987654321","payload":{"valor":1e400}}'), /número grande demais/),
  )
})

describe('5 headers of the send', () => {
  test('5.6 a missing or invalid token is 401, and nothing is stored', async () => {
    for (const token of ['', 'x', `Bearer ${account.token}`, `${account.token}x`])
      await refused(validSend, 'Unauthorized', 401, token)
  })

  test('5.3 Content-Type must be application/json; parameters and letter case do not matter', async () => {
    const before = await countRows(database.pool)
    for (const type of [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'multipart/form-data',
      'json',
    ]) {
      const { status, body } = await send(gateway.url, account.token, validSend, { 'content-type': type })
      expect([type, status, body]).toEqual([
        type,
        400,
        errorBody(400, 'O cabeçalho Content-Type deve ser application/json.', 'Bad Request'),
      ])
    }
    expect(await countRows(database.pool)).toEqual(before)
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8 '])
      expect([type, (await send(gateway.url, account.token, validSend, { 'content-type': type })).status]).toEqual([type, 200])
  })
})

describe('test tokens', () => {
  test('a send with a test token is marked as such, in the notification, its deliveries and its first event', async () => {
    const { token } = await issueToken(database.pool, account.id, { mode: 'test' })
    const stored = await accepted({ ...validSend, sms: { number: '11987654321' } }, token)
    expect(stored.notification.mode).toBe('test')
    expect(stored.deliveries.map(row => row.mode)).toEqual(['test', 'test'])
    expect(stored.events[0]!.data.mode).toBe('test')
  })

  test('where the simulator is off a test token is 503 with a message that says so, and a live one is 200', async () => {
    const real = await gatewayForTest(database.pool, { SIMULATOR: 'off' })
    const { token } = await issueToken(database.pool, account.id, { mode: 'test' })
    const before = await countRows(database.pool)
    const refusal = await send(real.url, token, validSend)
    expect([refusal.status, refusal.body]).toEqual([
      503,
      errorBody(503, expect.stringContaining('simulador está desligado'), 'Service Unavailable'),
    ])
    expect(await countRows(database.pool)).toEqual(before)
    expect((await send(real.url, account.token, validSend)).status).toBe(200)
  })
})
