import { createPrivateKey, createPublicKey, sign as signBytes } from 'node:crypto'
import { seeded } from '../../../simulator/random.js'
import { canonicalJson, type Json } from '../../../src/domain/evidence/canonical-json.js'
import { type ChainedEvent, chainEvent, GENESIS, sha256 } from '../../../src/domain/evidence/evidence.js'
import { proofFiles, sealBundle } from '../../../src/evidence/bundle/bundle.js'
import { type BundleFile, measure, sortFiles, textFile } from '../../../src/evidence/bundle/zip-writer.js'
import { cutProof } from '../../../src/evidence/log-proof.js'
import { checkpointText, makeVerifier, noteDigest, signNote } from '../../../src/evidence/note.js'
import { GrowingTree, leafHash, nodeHash, planInclusion } from '../../../src/evidence/tree.js'

/** Bundles made without a database, each of a shape that its seed chooses. */
export interface SampleBundle {
  bytes: Buffer
  vkey: string
  notification: string
}

export interface SampleOptions {
  seed: number
  /** Makes an RFC 3161 token over a digest. */
  stamp?: (digest: Buffer) => Buffer
  /** Files beside the ones that the seed chooses. */
  documents?: ReadonlyMap<string, Uint8Array>
  /** Changes the files before they are listed and signed: what a dishonest gateway would sign. */
  edit?: (files: Map<string, Buffer>) => void
}

/** RFC 8410: the fixed head of an Ed25519 private key. The same key every time, so that the same seed is the same bundle. */
const keyOf = (byte: number) =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, byte)]),
    format: 'der',
    type: 'pkcs8',
  })
const privateKey = keyOf(1)
const ORIGIN = 'example.com/carteiro/0a1b2c3d'
export const sampleKey: { vkey: string; sign(text: string): string } = {
  vkey: makeVerifier(ORIGIN, createPublicKey(privateKey)).vkey,
  sign: text => signNote(text, ORIGIN, privateKey),
}
const witnessKey = keyOf(2)
const WITNESS = makeVerifier('witness.example', createPublicKey(witnessKey), 'witness')

export async function sampleBundle({ seed, stamp, documents, edit }: SampleOptions): Promise<SampleBundle> {
  const random = seeded(seed)
  const below = (limit: number): number => Math.floor(random() * limit)
  const bytesOf = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => below(256)))
  const notification = `01890a5d-ac96-774b-bcce-${bytesOf(6).toString('hex')}`
  // Seed 0 has everything, and nothing that is erased.
  const isFull = seed === 0
  const attachments = Array.from({ length: isFull ? 2 : below(3) }, () => bytesOf(1 + below(400)))
  const recordings = Array.from({ length: isFull ? 1 : below(2) }, () => bytesOf(1 + below(400)))
  const message = Buffer.from(`Subject: aviso ${seed}\r\n\r\nOlá, Maria.\r\n`)
  const content = '<p>Olá, Maria</p>'
  const files = new Map<string, Buffer>()
  const datas: Json[] = [
    {
      subject: `Aviso ${seed}`,
      contentSha256: sha256(content),
      attachments: attachments.map((bytes, index) => ({ name: `a${index}.pdf`, sha256: sha256(bytes), size: bytes.length })),
    },
    { channel: 'email', attempt: 1, content: { sha256: sha256(message), size: message.length, type: 'message/rfc822' } },
    ...recordings.map(bytes => ({ channel: 'voice', recording: sha256(bytes), size: bytes.length })),
    ...Array.from({ length: below(4) }, (_, index) => ({ note: `é ${index}`, list: [1, true, null] })),
  ]
  const events = chain(notification, datas, bytesOf)
  files.set('content/request.html', Buffer.from(content))
  files.set('content/2-email.eml', message)
  for (const [index, bytes] of attachments.entries()) files.set(`attachments/${index + 1}-a${index}.pdf`, bytes)
  for (const [index, bytes] of recordings.entries()) files.set(`recordings/${index + 3}.wav`, bytes)
  const erased = !isFull && below(3) === 0 ? events.length : 0
  files.set(
    'events.json',
    Buffer.from(
      canonicalJson(
        events.map(({ salt, data, ...event }) =>
          event.seq === erased && event.seq > 2 + recordings.length
            ? { ...event, data: null, salt: null }
            : { ...event, data, salt: salt.toString('hex') },
        ),
      ),
    ),
  )
  files.set('status.json', Buffer.from(canonicalJson({ v: 1, notification, channels: [] })))
  files.set('keys.json', Buffer.from(canonicalJson({ v: 1, log: sampleKey.vkey, witnesses: [WITNESS.vkey], documents: [] })))
  files.set('LEIA-ME.txt', Buffer.from('Pacote de evidências.\n'))
  if (isFull || below(4) > 0) {
    const covered = isFull ? events.length : 1 + below(events.length)
    const proof = logProof(events.slice(0, covered), below, isFull || below(2) === 0, stamp)
    for (const file of proofFiles(cutProof(proof, events.length)!)) files.set(file.path, await whole(file))
  }
  for (const [name, pdf] of documents ?? []) files.set(`documents/${name}`, Buffer.from(pdf))
  edit?.(files)
  const measured = await Promise.all([...files].map(([path, bytes]) => measure(textFile(path, bytes))))
  const at = new Date(Date.UTC(2026, 10, 16, 12))
  const bundle = await sealBundle(notification, sortFiles(measured), at, sampleKey)
  const pieces: Uint8Array[] = []
  for await (const piece of bundle.write()) pieces.push(piece)
  return { bytes: Buffer.concat(pieces), vkey: sampleKey.vkey, notification }
}

function chain(notification: string, datas: readonly Json[], bytesOf: (size: number) => Buffer): ChainedEvent[] {
  const events: ChainedEvent[] = []
  for (const [index, data] of datas.entries()) {
    const prev = events.at(-1)?.hash ?? GENESIS
    const at = new Date(Date.UTC(2026, 10, 16, 10, 0, index)).toISOString()
    const isRecording = typeof data === 'object' && data !== null && 'recording' in data
    const type = index === 0 ? 'accepted' : index === 1 ? 'sent' : isRecording ? 'recorded' : 'note'
    events.push(chainEvent({ notification, seq: index + 1, at, type, source: 'api', data, salt: bytesOf(16), prev }))
  }
  return events
}

/** The events are spread among leaves of others. */
function logProof(
  events: readonly ChainedEvent[],
  below: (limit: number) => number,
  witnessed: boolean,
  stamp?: SampleOptions['stamp'],
) {
  const leaves: Buffer[] = []
  const places = events.map(({ hash }) => {
    for (let others = below(5); others > 0; others--) leaves.push(Buffer.from(sha256(`other ${leaves.length}`), 'hex'))
    leaves.push(Buffer.from(hash, 'hex'))
    return leaves.length - 1
  })
  for (let others = below(5); others > 0; others--) leaves.push(Buffer.from(sha256(`other ${leaves.length}`), 'hex'))
  const tree = new GrowingTree()
  for (const leaf of leaves) tree.append(leaf)
  const at = new Date(Date.UTC(2026, 10, 16, 11))
  const text = checkpointText(ORIGIN, tree.size, tree.root(), at)
  const note = sampleKey.sign(text) + (witnessed ? cosignature(text) : '')
  const token = stamp?.(noteDigest(text))
  return {
    checkpoint: {
      size: tree.size,
      note,
      witnesses: witnessed ? [WITNESS.vkey] : [],
      at,
      timeStamps: token === undefined ? [] : [{ authority: 'tsa', at, token }],
    },
    events: events.map(({ seq }, index) => ({
      seq,
      leaf: places[index]!,
      path: planInclusion(places[index]!, tree.size)
        .build(subtree => subtreeHash(leaves, subtree))
        .map(hash => hash.toString('hex')),
    })),
  }
}

function subtreeHash(leaves: readonly Buffer[], { height, place }: { height: number; place: number }): Buffer {
  if (height === 0) return leafHash(leaves[place]!)
  const half = (side: number) => subtreeHash(leaves, { height: height - 1, place: 2 * place + side })
  return nodeHash(half(0), half(1))
}

function cosignature(text: string): string {
  const seconds = 1_794_830_400n
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(seconds)
  const signature = signBytes(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), witnessKey)
  return `— ${WITNESS.name} ${Buffer.concat([WITNESS.keyId, time, signature]).toString('base64')}\n`
}

async function whole(file: BundleFile): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of file.read()) pieces.push(piece)
  return Buffer.concat(pieces)
}
