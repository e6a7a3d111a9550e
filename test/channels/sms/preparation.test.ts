import { afterAll, expect, test } from 'vitest'
import { createRendering } from '../../../src/channels/rendering.js'
import { sms } from '../../../src/channels/sms/channel.js'
import { createSmsPreparation } from '../../../src/channels/sms/preparation.js'
import { createTemplateRunner } from '../../../src/channels/template-runner.js'
import { completeSettings } from '../../../src/domain/account.js'
import type { Claim } from '../../../src/store/delivery/claims.js'

const templates = createTemplateRunner()
afterAll(() => templates.close())

const prepareOwn = createSmsPreparation({
  render: createRendering(sms, templates, async () => null),
  publicUrl: 'https://n.example.com',
  shortLink: async () => 'abc',
})
const textFor = async (subject: string): Promise<unknown> => {
  const claim = { subject, settings: completeSettings({}), accountName: 'Banco', request: {}, recipient: '+5511900000000' }
  return ((await prepareOwn(claim as unknown as Claim)) as { text: string }).text
}

test('our own text is the sender, as much of the subject as fits, and the link', async () => {
  expect(await textFor('Aviso')).toBe('Banco: Aviso https://n.example.com/s/abc')
  expect(await textFor('Aviso '.repeat(40))).toMatch(/^Banco: (Aviso )+.*\.\.\. https:\/\/n\.example\.com\/s\/abc$/)
})

test('of a subject with millions of characters only what could fit is read', async () => {
  const long = await textFor('Aviso '.repeat(40))
  expect(await textFor('Aviso '.repeat(3_000_000))).toBe(long)
})

const id = '01890a5d-ac96-774b-bcce-b302099a8057'

function prepare(content: string, values: Record<string, string>, known = true) {
  const variables = [...content.matchAll(/\{\{ (\w+) \}\}/g)].map(([, name]) => ({ name: name!, required: true }))
  const preparation = createSmsPreparation({
    render: createRendering(sms, templates, async () => ({ name: 'aviso', externalId: null, content, variables, metadata: {} })),
    shortLink: async () => '0k3m9z7q1a',
    publicUrl: 'https://n.example',
  })
  return preparation({
    notification: id,
    channel: 'sms',
    accountName: 'Acme',
    subject: 'Assunto',
    settings: completeSettings({}),
    reference: `${id}.sms.1`,
    recipient: '+5511987654321',
    suppressed: false,
    unknownCount: 0,
    request: { always: true, customMessage: null, template: 'aviso', variables: values },
    template: known ? { id, version: 1, editedAt: '' } : null,
  } as unknown as Claim)
}

test('an SMS with a template carries it filled in, with the link', async () => {
  expect(await prepare('{{ nome }}, leia: {SHORT_LINK}', { nome: 'Ana' })).toMatchObject({
    text: 'Ana, leia: https://n.example/s/0k3m9z7q1a',
  })
})

test.each([
  ['{{ nome }}', {}, true, /^Falta o valor da variável obrigatória nome: informe sms\.variables\.nome\.$/],
  ['{{ nome }}', { nome: 'Ana' }, false, /^O template "aviso" \(sms\.template\) não existe/],
  ['{{ nome }}', { nome: 'a'.repeat(919) }, true, /tem 919 caracteres; o máximo são 918.*sms\.variables/],
  ['https://evil.example/?x={{ link }}', { link: '{SHORT_LINK}' }, true, /Ponha um espaço de cada lado/],
])('an SMS whose template cannot be sent fails with its cure: %s %j', async (content, values, known, failureDetail) => {
  expect(await prepare(content, values as Record<string, string>, known)).toMatchObject({
    refused: { failureDetail: expect.stringMatching(failureDetail) },
  })
})
