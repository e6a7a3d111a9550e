import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Config } from '../../app/config.js'
import { type ChannelWiring, carrierKey, type World } from '../../app/lanes.js'
import type { Clock } from '../../domain/clock.js'
import { OperatorError } from '../../domain/errors.js'
import type { Keys } from '../../domain/keys.js'
import type { Mode } from '../../domain/token.js'
import type { Recorder } from '../../engine/deliver/worker.js'
import type { Chore } from '../../engine/upkeep/chores.js'
import { storeBlobs } from '../../store/blobs.js'
import { findReference } from '../../store/carrier-references.js'
import type { Pool } from '../../store/postgres.js'
import { findVersionContent } from '../../store/templates.js'
import type { Callback, LetterMessage, Provider } from '../provider.js'
import { createRendering } from '../rendering.js'
import { E_CARTA, eCartaProvider } from './e-carta/e-carta.js'
import { createLotJournal } from './e-carta/lot-journal.js'
import { findLetter, insertLetter, insertLetterReceipt } from './letter-store.js'
import { createLetterPreparation } from './preparation.js'
import { printShopCallback, printShopProvider, readPrintAccount } from './print-shop.js'
import { createRastro } from './rastro.js'
import { trackLetters } from './tracking.js'
import { createTypesetter } from './typesetter.js'

export interface LetterParts {
  config: Config
  keys: Keys
  pool: Pool
  onError(error: unknown, what: string): void
}

export interface LetterWiring {
  wiring: ChannelWiring<LetterMessage>
  /** Asking the post where letters are. */
  chores(parts: ChoreParts): Promise<Chore[]>
  close(): Promise<void>
}

interface ChoreParts {
  recorder: Recorder
  clock: Clock
  simulatorUrl: string | null
}

/** More than a core can typeset while a carrier answers, and few enough that the last is made long before its lease ends. */
const LETTERS_AT_ONCE = 50
const SECOND = 1_000
/** The post counts in days. */
const TRACKED_EVERY_MS = 2 * 3_600 * SECOND
const TRACKING_CHORE_MS = 60 * SECOND
const SIMULATED_TRACKED_EVERY_MS = SECOND

export function wireLetter(parts: LetterParts): LetterWiring {
  const { config, keys, pool } = parts
  // A letter that has its place in a lot may still leave with it: a second carrier would print it a second time.
  if (config.letter.carriers.length > 1) {
    throw new OperatorError('LETTER_URL aceita uma só operadora: com duas, uma carta poderia ser impressa duas vezes.')
  }
  const typesetter = createTypesetter()
  return {
    wiring: {
      channel: 'letter',
      carriers: config.letter.carriers,
      concurrency: () => LETTERS_AT_ONCE,
      provider: (url, world) => openProvider(url, world, parts),
      prepare: () =>
        createLetterPreparation({
          publicUrl: config.publicUrl,
          linkKey: keys.link,
          render: createRendering((id, version) => findVersionContent(pool, id, version)),
          typesetter,
          find: (notification, ordinal) => findLetter(pool, { notification, ordinal }),
          async keep(notification, ordinal, { pdf, sha256, pages, sheet }) {
            await storeBlobs(pool, [{ name: 'carta.pdf', bytes: pdf, sha256 }])
            await insertLetter(pool, { notification, ordinal }, { sha256, pages, sheet: JSON.parse(JSON.stringify(sheet)) })
          },
        }),
    },
    chores: choreParts => trackingChores(parts, choreParts),
    close: () => typesetter.close(),
  }
}

function openProvider(url: URL, world: World, { config, pool, onError }: LetterParts): Provider<LetterMessage> {
  if (url.protocol !== 'ecarta+sftp:') return printShopProvider()
  const key = carrierKey(E_CARTA, world.simulatorUrl !== null)
  return eCartaProvider({
    journal: createLotJournal(pool, key),
    privateKey: readKey(config.letter.keyFile),
    onEvents: world.onEvents,
    async onReceipt(name, image) {
      const letter = await findReference(pool, key, [name])
      if (letter !== null) await insertLetterReceipt(pool, letter.notification, image)
    },
    onError,
  })
}

function readKey(file: string | null): string | null {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler a chave SSH em ${file} (LETTER_KEY_FILE).`, { cause })
  }
}

/** One chore for each world that letters of a mode go to. */
async function trackingChores({ config, pool }: LetterParts, { recorder, clock, simulatorUrl }: ChoreParts): Promise<Chore[]> {
  const simulated = simulatorUrl === null ? null : await readSimulatedTracking(simulatorUrl)
  const real = config.hasCarriers
  const worlds: [Mode, URL | null, number, number][] = [
    [
      'live',
      real ? config.letter.tracking : simulated,
      real ? TRACKED_EVERY_MS : SIMULATED_TRACKED_EVERY_MS,
      real ? TRACKING_CHORE_MS : SECOND,
    ],
    ['test', simulated, SIMULATED_TRACKED_EVERY_MS, SECOND],
  ]
  return worlds.flatMap(([mode, url, trackedEveryMs, everyMs]) => {
    if (url === null) return []
    const rastro = createRastro(url, clock)
    const run = (): Promise<void> => trackLetters({ pool, recorder, rastro, mode, everyMs: trackedEveryMs })
    return [{ name: `tracking of ${mode} letters`, everyMs, run }]
  })
}

async function readSimulatedTracking(simulatorUrl: string): Promise<URL | null> {
  const response = await fetch(`${simulatorUrl}/simulator/carriers`)
  const url = ((await response.json()) as Record<string, string>)['letter-tracking']
  return url === undefined ? null : new URL(url)
}

/** The reader of a print service's callbacks; a bad URL stops the start. */
export function realLetterCallbacks({ letter }: Config, clock: Clock): Callback[] {
  const secrets = letter.carriers.filter(url => url.protocol !== 'ecarta+sftp:').map(url => readPrintAccount(url).secret)
  return secrets.length === 0 ? [] : [printShopCallback(secrets, clock)]
}

export const simulatedLetterCallbacks = ({ simulator }: Keys, clock: Clock): Callback[] => [
  printShopCallback([createHmac('sha256', simulator).update('print-shop').digest('hex')], clock),
]
