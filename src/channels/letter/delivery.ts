import { readFileSync } from 'node:fs'
import { findAttempt } from '../../domain/carrier-source.js'
import { OperatorError } from '../../domain/errors.js'
import { makeLinkCode } from '../../domain/link.js'
import type { Chore } from '../../runtime/chores.js'
import { findVersionContent } from '../../store/accounts/templates.js'
import { findAttempts, findReference } from '../../store/carrier/references.js'
import { storeBlobs } from '../../store/notification/blobs.js'
import { modesOf } from '../carrier-name.js'
import type { ChannelDelivery, ChannelRuntime, DeliveryContext, DocumentReader, RuntimeContext, World } from '../channel.js'
import { createRendering } from '../rendering.js'
import { type LetterConfig, letter, proofDocument } from './channel.js'
import { createLotJournal } from './e-carta/lot-journal.js'
import type { LetterMessage } from './letter-message.js'
import { findLetter, findLetterHistory, insertLetter, insertLetterReceipt, type ReceiptImage } from './letter-store.js'
import { createLetterPreparation } from './preparation.js'
import { createLetterProofs } from './proof.js'
import { createRastro } from './rastro.js'
import { trackLetters } from './tracking.js'
import { createTypesetter } from './typesetter.js'

const SECOND = 1_000
/** The post counts in days. */
const TRACKED_EVERY_MS = 2 * 3_600 * SECOND
const TRACKING_CHORE_MS = 60 * SECOND
const SIMULATED_TRACKED_EVERY_MS = SECOND

export const letterRuntime: ChannelRuntime<LetterConfig> = { openDelivery, callbackParts: ({ clock }) => ({ clock }), documents }

async function openDelivery(context: DeliveryContext<LetterConfig>): Promise<ChannelDelivery<LetterMessage>> {
  const { config, keys, pool, publicUrl, templates } = context
  // A letter that has its place in a lot may still leave with it: a second carrier would print it a second time.
  if (config.carriers.length > 1) {
    throw new OperatorError('LETTER_URL aceita uma só operadora: com duas, uma carta poderia ser impressa duas vezes.')
  }
  const typesetter = createTypesetter()
  return {
    partsOf: (_, world) => partsOf(world, context),
    prepare: () =>
      createLetterPreparation({
        publicUrl,
        linkKey: keys.link,
        render: createRendering(letter, templates, (id, version) => findVersionContent(pool, id, version)),
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

function partsOf(world: World, { config, pool, hasCarriers, onError }: DeliveryContext<LetterConfig>) {
  const { carrier, simulatorUrl } = world
  const source = { channel: letter.channel, carriers: [carrier], modes: modesOf(simulatorUrl !== null, hasCarriers) }
  return {
    journal: createLotJournal(pool, carrier),
    privateKey: readKey(config.keyFile),
    onEvents: world.onEvents,
    async onReceipt(name: string, image: ReceiptImage) {
      const found = await findReference(pool, [carrier], [name])
      const delivery = found && (await findAttempts(pool, found.notification, found.channel))
      if (found !== null && delivery !== null && findAttempt(source, delivery, found.ordinal) !== null)
        await insertLetterReceipt(pool, found.notification, image)
    },
    onError,
  }
}

function readKey(file: string | null): string | null {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler a chave SSH em ${file} (LETTER_KEY_FILE).`, { cause })
  }
}

/** One chore for the real post and one for the simulated one: neither knows the letters of the other. */
async function trackingChores(context: DeliveryContext<LetterConfig>): Promise<Chore[]> {
  const { config, pool, clock, hasCarriers, record, simulatorAddress } = context
  const simulated = await simulatorAddress('letter-tracking')
  const posts: [boolean, URL | null, number, number][] = [
    [false, hasCarriers ? config.tracking : null, TRACKED_EVERY_MS, TRACKING_CHORE_MS],
    [true, simulated, SIMULATED_TRACKED_EVERY_MS, SECOND],
  ]
  return posts.flatMap(([isSimulated, url, trackedEveryMs, everyMs]) => {
    if (url === null) return []
    const rastro = createRastro(url, clock)
    const tracked = { simulated: isSimulated, modes: modesOf(isSimulated, hasCarriers) }
    const run = (): Promise<void> => trackLetters({ pool, record, rastro, tracked, everyMs: trackedEveryMs })
    return [{ name: `tracking of ${isSimulated ? 'simulated' : 'real'} letters`, everyMs, run }]
  })
}

function documents({ pool, keys, publicUrl }: RuntimeContext<LetterConfig>): Record<string, DocumentReader> {
  const typesetter = createTypesetter(1)
  const { name, path, extension } = proofDocument
  const key = keys.derive(name)
  const compose = createLetterProofs({
    typesetter,
    proofUrl: (id: string) => `${publicUrl}${path}/${makeLinkCode(key, id, letter.linkCode)}.${extension}`,
    findHistory: (id: string) => findLetterHistory(pool, id),
    findLetter: (notification: string, ordinal: number) => findLetter(pool, { notification, ordinal }),
  })
  return {
    [proofDocument.name]: {
      async open(notification) {
        const pdf = await compose(notification)
        return pdf && { size: pdf.length, read: async (from, length) => pdf.subarray(from, from + length) }
      },
      close: () => typesetter.close(),
    },
  }
}
