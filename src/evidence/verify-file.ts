import { faultText } from './signature/fault.js'
import { embeddedFiles } from './signature/pdf/embedded-files.js'
import { type VerifyOptions, verifyBundle } from './verify/bundle.js'
import { readKeys } from './verify/manifest.js'
import type { CheckedDocument, VerifierTools } from './verify/tools.js'
import type { Verdict } from './verify/verdict.js'
import { looksLikeZip, readZip } from './verify/zip.js'

/** A bundle, or a document with the bundle that it may hold. */
export interface FileVerdict {
  holds: boolean
  document: CheckedDocument | null
  bundle: Verdict | null
  /** The verifier gave the key of the log, and the file has nothing to compare with it: nobody may take the file for that log's. */
  isKeyUnused: boolean
}

const EMBEDDED_BUNDLE = 'evidencia.zip'

/** null: the bytes are neither a ZIP nor a PDF. */
export async function verifyFile(bytes: Uint8Array, options: VerifyOptions, tools: VerifierTools): Promise<FileVerdict | null> {
  if (looksLikeZip(bytes)) {
    const bundle = await verifyBundle(bytes, options, tools)
    return { holds: bundle.holds, document: null, bundle, isKeyUnused: false }
  }
  const head = Buffer.from(bytes.subarray(0, 1_024)).toString('latin1')
  return head.includes('%PDF-') && tools.verifyDocument !== null ? verifyDocument(bytes, options, tools) : null
}

async function verifyDocument(bytes: Uint8Array, options: VerifyOptions, tools: VerifierTools): Promise<FileVerdict> {
  const embedded = readBundle(bytes)
  const inside = 'bytes' in embedded ? embedded.bytes : null
  const bundle = inside === null ? null : await verifyBundle(inside, options, tools)
  // A whole bundle says whose signature the documents about its notification have.
  const known = bundle?.holds === true ? (await readKeys(readZip(inside!), tools)).certificates : null
  const signature = await tools.verifyDocument!(bytes, known)
  const document = 'problem' in embedded && signature.problem === null ? { ...signature, problem: embedded.problem } : signature
  const isKeyUnused = options.key !== null && bundle === null
  return { holds: document.problem === null && bundle?.holds !== false && !isKeyUnused, document, bundle, isKeyUnused }
}

function readBundle(pdf: Uint8Array): { bytes: Uint8Array | null } | { problem: string } {
  try {
    return { bytes: embeddedFiles(pdf).find(({ name }) => name === EMBEDDED_BUNDLE)?.bytes ?? null }
  } catch (error) {
    return { problem: faultText(error, 'Os arquivos dentro do PDF não se leem.') }
  }
}
