import { afterAll, expect, test } from 'vitest'
import { createRendering } from '../../../src/channels/rendering.js'
import { createTemplateRunner } from '../../../src/channels/template-runner.js'
import { whatsapp } from '../../../src/channels/whatsapp/channel.js'
import { createWhatsappPreparation } from '../../../src/channels/whatsapp/preparation.js'
import { completeSettings } from '../../../src/domain/account.js'
import type { Claim } from '../../../src/store/delivery/claims.js'

const templates = createTemplateRunner()
afterAll(() => templates.close())

const id = '01890a5d-ac96-774b-bcce-b302099a8057'

type ShowText = (reference: string, text: string) => Promise<void>

function prepare(content: string, values: Record<string, string>, showText: ShowText = async () => {}) {
  const variables = Object.keys(values).map(name => ({ name, required: true }))
  const preparation = createWhatsappPreparation({
    rendering: createRendering(whatsapp, templates, async () => ({
      name: 'aviso',
      externalId: null,
      content,
      variables,
      metadata: {},
    })),
    shortLink: async () => '0k3m9z7q1a',
    publicUrl: 'https://n.example',
    isRetired: async () => false,
    showText,
  })
  return preparation({
    notification: id,
    channel: 'whatsapp',
    account: id,
    mode: 'live',
    settings: completeSettings({}),
    reference: `${id}.whatsapp.1`,
    recipient: '+5511987654321',
    suppressed: false,
    request: { template: 'aviso', variables: { template: 'aviso', ...values } },
    template: { id, version: 1 },
  } as unknown as Claim)
}

test.each([
  'Leia em https://evil.example/?x={{ link }}',
  'https://evil.example/?x= {{- link }}',
  '{{ link }}.evil.example',
  '{{ nome }}{{ link }}',
])('a template whose text would make the link part of another address fails with its cure: %s', async content => {
  expect(await prepare(content, { nome: 'x', link: '{SHORT_LINK}' })).toMatchObject({
    refused: { failureDetail: expect.stringContaining('Ponha um espaço de cada lado') },
  })
})

test('a template in which the link stands alone gets it, and only in values', async () => {
  expect(await prepare('Olá {{ nome }}, veja {{ link }} agora', { nome: 'Ana', link: '{SHORT_LINK}' })).toMatchObject({
    body: [
      { name: null, text: 'Ana' },
      { name: null, text: 'https://n.example/s/0k3m9z7q1a' },
    ],
  })
})

test('a simulated carrier is shown the text that the template makes, with the link', async () => {
  const shown: string[][] = []
  const show: ShowText = async (...given) => void shown.push(given)
  await prepare('Olá {{ nome }}, veja {{ link }} agora', { nome: 'Ana', link: '{SHORT_LINK}' }, show)
  expect(shown).toEqual([[`${id}.whatsapp.1`, 'Olá Ana, veja https://n.example/s/0k3m9z7q1a agora']])
})
