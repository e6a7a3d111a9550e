import type { PdfSigner } from '../../channels/channel-runtime.js'
import { overloaded } from '../../domain/errors.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { qrCode } from '../../domain/recipient/qr-code.js'
import { cutText, storableValue } from '../../domain/text/text.js'
import { MIB } from '../../domain/units.js'
import { makeOnce } from '../../runtime/made-once.js'
import { isTypesetterOverloaded, type Typesetter } from '../../runtime/typesetting/typesetter.js'
import type { Dossier } from '../../store/evidence/dossier.js'
import { cutProof, type LogProof } from '../log-proof.js'
import { DOCUMENT_SOURCE } from './document-source.js'
import { type CertificateNote, signatureNote } from './legal-notes.js'
import { makeReport, type ReportParts, type ShownContent } from './report.js'
import type { DocumentContent } from './sections.js'
import { makeSendingProof, whyNoSendingProof } from './sending-proof.js'

export interface DocumentParts {
  typesetter: Typesetter
  openSigner(): Promise<CertifiedSigner>
  verificationOf(notification: string): Verification
  readProof(notification: string): Promise<LogProof | null>
  readContents(notification: string): Promise<readonly ShownContent[]>
  /** The file of evidence that a report has inside it; null: none. */
  makeBundle(notification: string): Promise<EmbeddedFile | null>
  now(): Date
  /** How long a document may take, with its wait for others. */
  deadlineMs?: number
}

export interface EmbeddedFile {
  name: string
  bytes: Uint8Array
}

/** A signer with a certificate that its documents describe. */
export interface CertifiedSigner extends PdfSigner {
  readonly certificate: PdfSigner['certificate'] & CertificateNote
}

const CACHE_BYTES = 64 * MIB
const CACHE_ENTRIES = 1_000
const DEADLINE_MS = 30_000
/** Longer texts take seconds to break into lines; the file of evidence has them whole. */
const MAX_MESSAGE = 40_000
const MAX_BLOCKS = 400
const LOGO_TYPES: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/svg+xml': 'svg' }

/**
 * The PDF documents about notifications. A document is made once for the same facts, whoever asks for it and however often: its key
 * is the hash of what it says.
 */
export function createDocuments(parts: DocumentParts) {
  const { typesetter, openSigner, verificationOf, deadlineMs = DEADLINE_MS } = parts
  const once = makeOnce<Uint8Array>({ maxEntries: CACHE_ENTRIES, maxWeight: CACHE_BYTES, weigh: pdf => pdf.length })

  const keyOf = (content: DocumentContent, logo: string | undefined, signer: CertifiedSigner): string =>
    sha256(JSON.stringify([content, logo ?? null, signer.certificate.sha256]))

  async function set(
    dossier: Dossier,
    content: DocumentContent,
    embedded: EmbeddedFile | null,
    signer: CertifiedSigner,
  ): Promise<Uint8Array> {
    const { logo } = dossier.sender
    const type = logo === null ? undefined : LOGO_TYPES[logo.type]
    const logoPath = type === undefined ? '' : `/${logo!.sha256}.${type}`
    const { pdf } = await typesetter.compose({
      source: embedded === null ? DOCUMENT_SOURCE : DOCUMENT_SOURCE + EMBED,
      inputs: {
        // The typesetter refuses a JSON with half a character anywhere in it.
        document: JSON.stringify(storableValue(content)),
        qr: qrCode(content.verification.url),
        logo: logoPath,
        ...(embedded === null ? {} : { embedded: embedded.name }),
      },
      fitted: { document: 'marked' },
      picture: 'logo',
      files: {
        ...(logoPath === '' ? {} : { [logoPath]: logo!.bytes }),
        ...(embedded === null ? {} : { [`/${embedded.name}`]: embedded.bytes }),
      },
      // The moment of the latest fact, so that the same facts give the same file.
      moment: Math.floor(Date.parse(dossier.events.at(-1)!.at) / 1_000),
      standard: embedded === null ? 'a-2b' : 'a-3b',
    })
    return (await signer.sign(pdf, { reason: content.kind, at: parts.now() })).pdf
  }

  async function sendingProof(dossier: Dossier): Promise<Uint8Array | { message: string }> {
    const message = whyNoSendingProof(dossier)
    if (message !== null) return { message }
    const signer = await openSigner()
    const content = makeSendingProof(dossier, verificationOf(dossier.id), signatureNote(signer.certificate))
    return once(keyOf(content, dossier.sender.logo?.sha256, signer), () => set(dossier, content, null, signer))
  }

  async function report(dossier: Dossier): Promise<Uint8Array | null> {
    if (dossier.events.length < 2) return null
    const { id } = dossier
    const signer = await openSigner()
    // Facts keep arriving: both are read after the events, and the document is of the events alone.
    const proof = cutProof(await parts.readProof(id), dossier.events.length)
    const contents = (await parts.readContents(id)).filter(({ seq }) => seq <= dossier.events.length)
    const message = dossier.content === null ? null : await readMessage(typesetter, dossier.content)
    const shown = { verification: verificationOf(id), proof, certificate: signer.certificate, message, contents }
    // Whether there is a file inside is known before it is made: making it is the larger part of the work.
    const key = keyOf(makeReport(dossier, { ...shown, embedded: null }), dossier.sender.logo?.sha256, signer)
    return once(key, async () => {
      const embedded = await parts.makeBundle(id)
      const content = makeReport(dossier, { ...shown, embedded: embedded?.name ?? null })
      return set(dossier, content, embedded, signer)
    })
  }

  return {
    /** The PDF, or why there is none yet. */
    sendingProof: (dossier: Dossier) => inTime(sendingProof(dossier), deadlineMs),
    /** null: nothing but the acceptance has happened. */
    report: (dossier: Dossier) => inTime(report(dossier), deadlineMs),
  }
}

/** PDF/A-3 wants to know what a file inside it is. */
const EMBED = `
#pdf.embed(sys.inputs.embedded, relationship: "data", mime-type: "application/zip", description: "Arquivo de evidências, para carteiro verify")
`

async function readMessage(typesetter: Typesetter, html: string): Promise<ReportParts['message']> {
  const blocks = await typesetter.read(cutText(html, MAX_MESSAGE))
  return { blocks: blocks.slice(0, MAX_BLOCKS), isCut: html.length > MAX_MESSAGE || blocks.length > MAX_BLOCKS }
}

/** A document that takes too long is answered with an overload; it goes on being made, and a later request finds it. */
async function inTime<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(overloaded()), limitMs).unref()
  })
  try {
    return await Promise.race([work, limit])
  } catch (error) {
    throw isTypesetterOverloaded(error) ? overloaded(error) : error
  } finally {
    clearTimeout(timer)
  }
}
