import { describe, expect, test } from 'vitest'
import { identifyCarrier, modesOf, simulatedName } from '../../src/channels/carrier-name.js'
import { channelModules } from '../../src/channels/registry.js'
import { type AttemptedDelivery, attemptName, type CarrierSource, findAttempt } from '../../src/domain/delivery/carrier-source.js'

/** Every provider of the registry: who may speak of a message. */
const providers = channelModules.flatMap(({ channel, providers }) => Object.keys(providers).map(name => ({ channel, name })))

const identityOf = (name: string, host = 'a.example', account = '00000001'): string => `${name}:${host}/${account}`

test('the registry has the nine providers', () => {
  expect(providers).toHaveLength(9)
})

describe.each(providers)('a message that was given to a carrier of $name', ({ channel, name }) => {
  const own = identityOf(name)
  const delivery: AttemptedDelivery = { channel, mode: 'live', attempted: [attemptName(1, own), attemptName(2, own)] }
  const source: CarrierSource = { channel, carriers: [own], modes: ['live'] }
  const says = (changes: Partial<CarrierSource>, ordinal: number | null = 1, of = delivery) =>
    findAttempt({ ...source, ...changes }, of, ordinal)

  test('is told of by this carrier, at every attempt', () => {
    for (const ordinal of [1, 2, null]) expect(says({}, ordinal)).toBe(own)
  })

  test('is told of by any account that signed with the same secret, and the one that got it is named', () => {
    expect(says({ carriers: [identityOf(name, 'b.example'), own] })).toBe(own)
  })

  test.each<[string, Partial<CarrierSource>]>([
    ['another account of the same server', { carriers: [identityOf(name, 'a.example', '00000002')] }],
    ['another server of the same provider', { carriers: [identityOf(name, 'b.example')] }],
    ['the provider without a carrier', { carriers: [name] }],
    ['the simulated carrier', { carriers: [simulatedName(name)] }],
    ['nobody in particular', { carriers: [] }],
    ['a source of test messages', { modes: ['test'] }],
  ])('is not told of by %s', (_, changes) => {
    for (const ordinal of [1, null]) expect(says(changes, ordinal)).toBeNull()
  })

  test.each(providers.filter(other => other.name !== name))('is not told of by a carrier of $name', other => {
    for (const ordinal of [1, null]) expect(says({ carriers: [identityOf(other.name)] }, ordinal)).toBeNull()
    const { channel: otherChannel } = other
    if (otherChannel !== channel) expect(says({ channel: otherChannel })).toBeNull()
  })

  test('is told of at the attempts that were made, and at no other', () => {
    expect(says({}, 3)).toBeNull()
    expect(says({}, 0)).toBeNull()
    expect(says({}, null, { ...delivery, attempted: [] })).toBeNull()
    // An identity that ends like another one is another carrier.
    expect(says({ carriers: [own.slice(2)] }, null)).toBeNull()
  })

  test('is of its own mode alone: beside real carriers the simulated ones get test messages', () => {
    const simulated = simulatedName(name)
    const of = (mode: 'live' | 'test'): AttemptedDelivery => ({ channel, mode, attempted: [attemptName(1, simulated)] })
    const tells = (hasCarriers: boolean, mode: 'live' | 'test') =>
      says({ carriers: [simulated], modes: modesOf(true, hasCarriers) }, 1, of(mode))
    expect([tells(true, 'live'), tells(true, 'test')]).toEqual([null, simulated])
    expect([tells(false, 'live'), tells(false, 'test')]).toEqual([simulated, simulated])
    expect(modesOf(false, true)).toEqual(['live'])
  })
})

/** The same account with other secrets and options, and other accounts: by the URL of each provider. */
const urls: Record<string, { one: string; same: string[]; others: string[] }> = {
  smtp: {
    one: 'smtp://ana:um@mail.example:587',
    same: ['smtp://ana:dois@mail.example:587?pool=3'],
    others: ['smtp://bia:um@mail.example:587', 'smtp://ana:um@other.example:587'],
  },
  mx: { one: 'mx://mail.example', same: ['mx://mail.example?rate=3'], others: ['mx://other.example'] },
  smpp: {
    one: 'smpp://ana:um@smsc.example',
    same: ['smpp://ana:dois@smsc.example:2775?from=29000&window=3'],
    others: ['smpp://bia:um@smsc.example', 'smpp://ana:um@smsc2.example', 'smpp://ana:um@smsc.example:2776'],
  },
  zenvia: {
    one: 'zenvia://um@api.example?from=acme&secret=segredo-de-16-letras',
    same: ['zenvia://dois@api.example?from=acme&secret=outro-segredo-de-16&window=3'],
    others: [
      'zenvia://um@api.example?from=outra&secret=segredo-de-16-letras',
      'zenvia://um@api2.example?from=acme&secret=segredo-de-16-letras',
    ],
  },
  'whatsapp-cloud': {
    one: 'whatsapp://EAAum@graph.example/v23.0/106540352242922',
    same: ['whatsapp://EAAdois@graph.example/v24.0/106540352242922?pool=3'],
    others: ['whatsapp://EAAum@graph.example/v23.0/106540352242923', 'whatsapp://EAAum@graph2.example/v23.0/106540352242922'],
  },
  twilio: {
    one: 'twilio://AC1:um@api.example?from=%2B551140041234',
    same: ['twilio://AC1:dois@api.example?from=%2B551140041234&ring=20'],
    others: [
      'twilio://AC2:um@api.example?from=%2B551140041234',
      'twilio://AC1:um@api.example?from=%2B551140041235',
      'twilio://AC1:um@api2.example?from=%2B551140041234',
    ],
  },
  sip: {
    one: 'sip://ana:um@tronco.example:5060',
    same: ['sip://ana:dois@tronco.example:5060?lines=9'],
    others: ['sip://bia:um@tronco.example:5060', 'sip://ana:um@outro.example:5060'],
  },
  'print-shop': {
    one: 'print+https://token:segredo@grafica.example/v1?conta=acme',
    same: ['print+https://novo:outro@grafica.example/v1/?conta=acme&rate=3'],
    others: [
      'print+https://token:segredo@grafica.example/v1?conta=outra',
      'print+https://token:segredo@grafica.example/v1',
      'print+https://token:segredo@outra.example/v1?conta=acme',
    ],
  },
  'e-carta': {
    one: 'ecarta+sftp://ana:um@correios.example/pasta?matriz=1&contrato=9&cartao=7&chave=x',
    same: ['ecarta+sftp://ana:dois@correios.example/pasta?matriz=1&contrato=9&cartao=8&chave=x&lote=9'],
    others: [
      'ecarta+sftp://bia:um@correios.example/pasta?matriz=1&contrato=9&cartao=7&chave=x',
      'ecarta+sftp://ana:um@correios.example/pasta?matriz=2&contrato=9&cartao=7&chave=x',
      'ecarta+sftp://ana:um@correios2.example/pasta?matriz=1&contrato=9&cartao=7&chave=x',
    ],
  },
}

const entries = channelModules.flatMap(module => Object.entries(module.providers))

test.each(entries)('the identity of a carrier of %s names its account, and no secret or option of it', async (name, { load }) => {
  const { identify } = await load()
  const { one, same, others } = urls[name]!
  const identity = (url: string): string => identifyCarrier({ name, ...(identify && { identify }) }, new URL(url))
  expect(same.map(identity)).toEqual(same.map(() => identity(one)))
  expect(new Set([one, ...others].map(identity)).size).toBe(others.length + 1)
})

test('a print service whose account has no name is known by its token: another token is another carrier', async () => {
  const { load } = entries.find(([name]) => name === 'print-shop')![1]
  const { identify } = await load()
  const [one, other] = ['um', 'dois'].map(token => identify!(new URL(`print+https://${token}:s@grafica.example/v1`)))
  expect(one).not.toBe(other)
})
