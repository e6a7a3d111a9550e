import { expect, test } from 'vitest'
import { channelModules } from '../../src/channels/registry.js'
import { listFiles, readSource, withoutComments } from '../support/sources.js'

/** Names that belong to one channel: the channels themselves, their providers, and the vendors and protocols behind them. */
const names = [
  ...channelModules.flatMap(({ channel, wire, providers }) => [channel, wire, ...Object.keys(providers)]),
  ...['smtps', 'smpps', 'sftp', 'imap', 'dkim', 'twiml', 'baresip', 'espeak', 'typst', 'correios', 'rastro', 'ecarta'],
]
const NAMED = new RegExp(`(?<![\\w-])(${[...new Set(names)].join('|')})(?![\\w-])`, 'gi')

/** Lists the programs that open links by themselves, some of which bear a channel's name. */
const ROBOTS = 'src/domain/recipient/robot.ts'

/** The contract calls the send and its report by these words, whichever channels a notification has. */
const CONTRACT = ['/gw/email', 'Email sem status!']

const withoutContract = (text: string): string => CONTRACT.reduce((rest, words) => rest.replaceAll(words, ''), text)

/** Here the word is the address by which a person signs in to the console. Every other name of a channel stays forbidden. */
const PEOPLE = /^src\/((store|engine|http)\/console\/|domain\/access\/(operator|totp)\.ts|cli\/(accounts\/operator|heads)\.ts)/
const withoutPeople = (path: string, text: string): string => (PEOPLE.test(path) ? text.replace(/\bemail\b/g, '') : text)

const namesIn = (text: string): string[] => withoutContract(withoutComments(text)).match(NAMED) ?? []

test('the search finds channels, providers and vendors, and nothing in longer words', () => {
  expect(namesIn("if (channel === 'sms' && provider === 'Twilio') DKIM()")).toEqual(['sms', 'Twilio', 'DKIM'])
  expect(namesIn("app.post('/gw/email'); const idEmail = 'e-mail'; style.letterSpacing")).toEqual([])
})

test('channels and vendors are named in channels/, in the simulator and in migrations only', () => {
  const elsewhere = listFiles('src').filter(path => path.endsWith('.ts') && !path.startsWith('src/channels/') && path !== ROBOTS)
  expect(elsewhere.length).toBeGreaterThan(100)
  const found = elsewhere.flatMap(path => namesIn(withoutPeople(path, readSource(path))).map(name => `${path}: ${name}`))
  expect(found).toEqual([])
})

test('what is shared by the channels names none of them', () => {
  const shared = listFiles('src/channels').filter(path => path.split('/').length === 3 && path !== 'src/channels/registry.ts')
  const found = shared.flatMap(path => namesIn(readSource(path)).map(name => `${path}: ${name}`))
  expect(found).toEqual([])
})

test('the bytes inside recipients’ links stay what they are: links live for years', () => {
  expect(Object.fromEntries(channelModules.map(({ channel, linkCode }) => [channel, linkCode]))).toMatchObject({
    email: 0,
    sms: 1,
    whatsapp: 2,
    voice: 3,
    letter: 4,
  })
})

test('no two channels share a name, a name on the wire, a link code, a template code or a provider', () => {
  const unique = (values: readonly unknown[]): boolean => new Set(values).size === values.length
  expect(unique(channelModules.map(({ channel }) => channel))).toBe(true)
  expect(unique(channelModules.map(({ wire }) => wire))).toBe(true)
  expect(unique(channelModules.map(({ linkCode }) => linkCode))).toBe(true)
  expect(unique(channelModules.map(({ templates }) => templates.code))).toBe(true)
  expect(unique(channelModules.flatMap(({ providers }) => Object.keys(providers)))).toBe(true)
  for (const { channel, providers } of channelModules) {
    // The store's checks allow no other names.
    expect(channel).toMatch(/^[a-z]+$/)
    expect(unique(Object.values(providers).flatMap(({ protocols }) => protocols)), channel).toBe(true)
  }
})
