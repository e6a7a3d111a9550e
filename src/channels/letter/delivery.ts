import { readFileSync } from 'node:fs'
import { OperatorError } from '../../domain/errors.js'
import { simulatorSecret } from '../../domain/keys.js'
import type { Mode } from '../../domain/token.js'
import type { Chore } from '../../runtime/chores.js'
import { storeBlobs } from '../../store/blobs.js'
import { findReference } from '../../store/carrier-references.js'
import { findVersionContent } from '../../store/templates.js'
import { scopedProvider } from '../carrier-name.js'
import type {
  CallbackContext,
  CallbackReaders,
  ChannelDelivery,
  ChannelRuntime,
  DeliveryContext,
  DocumentReader,
  RuntimeContext,
  World,
} from '../channel.js'
import type { Provider } from '../provider.js'
import { createRendering } from '../rendering.js'
import { type LetterConfig, letter, proofDocument } from './channel.js'
import { E_CARTA, eCartaProvider } from './e-carta/e-carta.js'
import { createLotJournal } from './e-carta/lot-journal.js'
import type { LetterMessage } from './letter-message.js'
import { findLetter, findLetterHistory, insertLetter, insertLetterReceipt } from './letter-store.js'
import { createLetterPreparation } from './preparation.js'
import { PRINT_SHOP, printShopCallback, printShopProvider, readPrintAccount } from './print-shop.js'
import { composeLetterProof } from './proof.js'
import { createRastro } from './rastro.js'
import { trackLetters } from './tracking.js'
import { createTypesetter } from './typesetter.js'

/** More than a core can typeset while a carrier answers, and few enough that the last is made long before its lease ends. */
const LETTERS_AT_ONCE = 50
const SECOND = 1_000
/** The post counts in days. */
const TRACKED_EVERY_MS = 2 * 3_600 * SECOND
const TRACKING_CHORE_MS = 60 * SECOND
const SIMULATED_TRACKED_EVERY_MS = SECOND

export const letterRuntime: ChannelRuntime<LetterConfig> = { openDelivery, callbacks, documents }

async function openDelivery(context: DeliveryContext<LetterConfig>): Promise<ChannelDelivery<LetterMessage>> {
  const { config, keys, pool, publicUrl } = context
  // A letter that has its place in a lot may still leave with it: a second carrier would print it a second time.
  if (config.carriers.length > 1) {
    throw new OperatorError('LETTER_URL aceita uma só operadora: com duas, uma carta poderia ser impressa duas vezes.')
  }
  const typesetter = createTypesetter()
  return {
    concurrency: () => LETTERS_AT_ONCE,
    provider: (url, world) => openProvider(url, world, context),
    prepare: () =>
      createLetterPreparation({
        publicUrl,
        linkKey: keys.link,
        render: createRendering(letter, (id, version) => findVersionContent(pool, id, version)),
        typesetter,
        find: (notification, ordinal) => findLetter(pool, { notification, ordinal }),
        async keep(notification, ordinal, { pdf, sha256, pages, sheet }) {
          await storeBlobs(pool, [{ name: 'carta.pdf', bytes: pdf, sha256 }])
          await insertLetter(pool, { notification, ordinal }, { sha256, pages, sheet: JSON.parse(JSON.stringify(sheet)) })
        },
      }),
    chores: await trackingChores(context),
    close: () => typesetter.close(),
  }
}

function openProvider(url: URL, world: World, context: DeliveryContext<LetterConfig>): Provider<LetterMessage> {
  if (!isPost(url)) return printShopProvider()
  const { config, pool, onError } = context
  const provider = scopedProvider(E_CARTA, world.simulatorUrl !== null)
  return eCartaProvider({
    journal: createLotJournal(pool, provider),
    privateKey: readKey(config.keyFile),
    onEvents: world.onEvents,
    async onReceipt(name, image) {
      const found = await findReference(pool, provider, [name])
      if (found !== null) await insertLetterReceipt(pool, found.notification, image)
    },
    onError,
  })
}

const isPost = ({ protocol }: URL): boolean => protocol === 'ecarta+sftp:'

function readKey(file: string | null): string | null {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler a chave SSH em ${file} (LETTER_KEY_FILE).`, { cause })
  }
}

/** One chore for each mode whose letters are tracked. */
async function trackingChores(context: DeliveryContext<LetterConfig>): Promise<Chore[]> {
  const { config, pool, clock, hasCarriers, record, simulatorAddress } = context
  const simulated = await simulatorAddress('letter-tracking')
  const modes: [Mode, URL | null, number, number][] = [
    hasCarriers
      ? ['live', config.tracking, TRACKED_EVERY_MS, TRACKING_CHORE_MS]
      : ['live', simulated, SIMULATED_TRACKED_EVERY_MS, SECOND],
    ['test', simulated, SIMULATED_TRACKED_EVERY_MS, SECOND],
  ]
  return modes.flatMap(([mode, url, trackedEveryMs, everyMs]) => {
    if (url === null) return []
    const rastro = createRastro(url, clock)
    const run = (): Promise<void> => trackLetters({ pool, record, rastro, mode, everyMs: trackedEveryMs })
    return [{ name: `tracking of ${mode} letters`, everyMs, run }]
  })
}

/** A bad URL stops the start. */
function callbacks({ config, keys, clock, simulator }: CallbackContext<LetterConfig>): CallbackReaders {
  const secrets = config.carriers.filter(url => !isPost(url)).map(url => readPrintAccount(url).secret)
  return {
    real: secrets.length === 0 ? [] : [printShopCallback(secrets, clock)],
    simulated: simulator ? [printShopCallback([simulatorSecret(keys.simulator, PRINT_SHOP)], clock)] : [],
  }
}

function documents({ pool }: RuntimeContext<LetterConfig>): Record<string, DocumentReader> {
  const typesetter = createTypesetter(1)
  const parts = {
    typesetter,
    findHistory: (id: string) => findLetterHistory(pool, id),
    findLetter: (notification: string, ordinal: number) => findLetter(pool, { notification, ordinal }),
  }
  return {
    [proofDocument.name]: {
      async open(notification) {
        const pdf = await composeLetterProof(parts, notification)
        return pdf && { size: pdf.length, read: async (from, length) => pdf.subarray(from, from + length) }
      },
      close: () => typesetter.close(),
    },
  }
}
