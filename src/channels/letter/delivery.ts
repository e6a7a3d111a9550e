import { readFileSync } from 'node:fs'
import { findAttempt } from '../../domain/delivery/carrier-source.js'
import { OperatorError } from '../../domain/errors.js'
import { VERIFICATION_KEY, verificationAt } from '../../domain/evidence/verification-code.js'
import { makeLinkCode } from '../../domain/recipient/link.js'
import { SECOND_MS } from '../../domain/units.js'
import type { Chore } from '../../runtime/chores.js'
import { findAccountLogo, findLogo } from '../../store/accounts/accounts.js'
import { findVersionContent } from '../../store/accounts/templates.js'
import { findAttempts, findReference } from '../../store/carrier/references.js'
import { storeFile } from '../../store/files/write.js'
import { readContent } from '../../store/notification/notifications.js'
import type { Pool } from '../../store/postgres.js'
import { modesOf } from '../carrier-name.js'
import type {
  ChannelDelivery,
  ChannelRuntime,
  DeliveryContext,
  DocumentContext,
  DocumentReader,
  PreviewContext,
  World,
} from '../channel-runtime.js'
import type { ChannelPreview } from '../preview.js'
import { createRendering } from '../rendering.js'
import { type LetterConfig, letter, proofDocument } from './channel.js'
import { createLotJournal } from './e-carta/lot-journal.js'
import type { LetterMessage } from './letter-message.js'
import { findLetter, findLetterHistory, insertLetter, type ReceiptImage } from './letter-store.js'
import { createLetterPreparation, type PrintableLogo, printableLogo } from './preparation.js'
import { createLetterProofs } from './proof.js'
import { createRastro } from './rastro.js'
import { keepReceipt } from './receipts.js'
import { trackLetters } from './tracking.js'
import { createTypesetter } from './typesetter.js'

/** The post counts in days. */
const TRACKED_EVERY_MS = 2 * 3_600 * SECOND_MS
const TRACKING_CHORE_MS = 60 * SECOND_MS
const SIMULATED_TRACKED_EVERY_MS = SECOND_MS

export const letterRuntime: ChannelRuntime<LetterConfig> = {
  openDelivery,
  openPreview,
  callbackParts: ({ clock }) => ({ clock }),
  documents,
}

async function openDelivery(context: DeliveryContext<LetterConfig>): Promise<ChannelDelivery<LetterMessage>> {
  const { config, keys, pool, publicUrl, shortLink, templates, warn } = context
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
        shortLink,
        findLogo: account => findPrintableLogo(pool, account),
        warn,
        render: createRendering(letter, templates, (id, version) => findVersionContent(pool, id, version)),
        readContent: notification => readContent(pool, notification),
        typesetter,
        find: (notification, ordinal) => findLetter(pool, { notification, ordinal }),
        async keep(notification, ordinal, { pdf, sha256, pages, sheet }) {
          await storeFile(pool, { bytes: pdf, sha256 })
          await insertLetter(pool, { notification, ordinal }, { sha256, pages, sheet })
        },
      }),
    chores: await trackingChores(context),
    close: () => typesetter.close(),
  }
}

function openPreview({ keys, pool, publicUrl, shortLink, templates }: PreviewContext<LetterConfig>): ChannelPreview {
  const typesetter = createTypesetter(1)
  const prepare = createLetterPreparation({
    publicUrl,
    linkKey: keys.link,
    shortLink,
    findLogo: account => findPrintableLogo(pool, account),
    // The delivery tells the operator of a logo that cannot be printed.
    warn: () => {},
    render: createRendering(letter, templates, (id, version) => findVersionContent(pool, id, version)),
    readContent: async () => null,
    typesetter,
    find: async () => null,
    keep: async () => {},
  })
  return {
    async show(claim) {
      const message = await prepare(claim)
      if ('refused' in message) return message
      return { kind: 'pdf', base64: Buffer.from(message.pdf).toString('base64'), pages: message.pages }
    },
    async countUnits(claim) {
      const message = await prepare(claim)
      return 'refused' in message ? 0 : message.pages
    },
    close: () => typesetter.close(),
  }
}

async function findPrintableLogo(pool: Pool, account: string): Promise<PrintableLogo | null> {
  return printableLogo(await findAccountLogo(pool, account))
}

function partsOf(world: World, context: DeliveryContext<LetterConfig>) {
  const { config, pool, clock, hasCarriers, onError } = context
  const { carrier, simulatorUrl } = world
  const source = { channel: letter.channel, carriers: [carrier], modes: modesOf(simulatorUrl !== null, hasCarriers) }
  return {
    journal: createLotJournal(pool, carrier),
    privateKey: readKey(config.keyFile),
    clock,
    onEvents: world.onEvents,
    async onReceipt(name: string, image: ReceiptImage) {
      const found = await findReference(pool, [carrier], [name])
      const delivery = found && (await findAttempts(pool, found.notification, found.channel))
      if (found !== null && delivery !== null && findAttempt(source, delivery, found.ordinal) !== null)
        await keepReceipt(context, { ...found, carrier }, image)
      else onError(new Error(`no letter with the reference ${name} was given to ${carrier}`), 'a receipt of e-Carta is not kept')
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
    [true, simulated, SIMULATED_TRACKED_EVERY_MS, SECOND_MS],
  ]
  return posts.flatMap(([isSimulated, url, trackedEveryMs, everyMs]) => {
    if (url === null) return []
    const rastro = createRastro(url, clock)
    const tracked = { simulated: isSimulated, modes: modesOf(isSimulated, hasCarriers) }
    const run = (): Promise<void> => trackLetters({ pool, record, rastro, tracked, everyMs: trackedEveryMs })
    return [{ name: `tracking of ${isSimulated ? 'simulated' : 'real'} letters`, everyMs, run }]
  })
}

function documents({ pool, keys, publicUrl, clock, openSigner }: DocumentContext<LetterConfig>): Record<string, DocumentReader> {
  const typesetter = createTypesetter(1)
  const { name, path, extension } = proofDocument
  const key = keys.derive(name)
  const verificationKey = keys.derive(VERIFICATION_KEY)
  const compose = createLetterProofs({
    typesetter,
    proofUrl: (id: string) => `${publicUrl}${path}/${makeLinkCode(key, id, letter.linkCode)}.${extension}`,
    verificationOf: (id: string) => verificationAt(publicUrl, verificationKey, id),
    openSigner,
    now: () => new Date(clock()),
    findHistory: (id: string) => findLetterHistory(pool, id),
    findLetter: (notification: string, ordinal: number) => findLetter(pool, { notification, ordinal }),
    findLogo: async (sha256: string) => (await findLogo(pool, sha256))?.bytes ?? null,
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
