import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  checkpointText,
  makeVerifier,
  readCheckpoint,
  readNote,
  readVerifier,
  signNote,
  splitNotes,
  verifyNote,
} from '../../src/evidence/note.js'

const ORIGIN = 'notifica.example.com/carteiro/0a1b2c3d'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const log = makeVerifier(ORIGIN, publicKey)
const AT = new Date('2026-11-16T12:00:00.000Z')
const TEXT = checkpointText(ORIGIN, 1234, Buffer.alloc(32, 5), AT)
const NOTE = signNote(TEXT, ORIGIN, privateKey)

test('a checkpoint is a note of four lines, an empty one and a signature', () => {
  expect(NOTE).toMatch(
    /^notifica\.example\.com\/carteiro\/0a1b2c3d\n1234\n[A-Za-z0-9+/]{43}=\ntime 2026-11-16T12:00:00\.000Z\n\n— notifica\.example\.com\/carteiro\/0a1b2c3d [A-Za-z0-9+/=]{92}\n$/,
  )
  const note = readNote(NOTE)!
  expect(note.text).toBe(TEXT)
  expect(verifyNote(note, log)).toEqual({ at: null })
  expect(readCheckpoint(note.text)).toEqual({ origin: ORIGIN, size: 1234, root: Buffer.alloc(32, 5), at: AT })
})

test('the key of the Go library’s own example is read, and its note verifies', () => {
  // golang.org/x/mod/sumdb/note, Example.
  const peter = readVerifier('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW')!
  const note = readNote(
    'If you think cryptography is the answer to your problem,\nthen you don’t know what your problem is.\n\n'.replace('’', "'") +
      '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n',
  )!
  expect(verifyNote(note, peter)).toEqual({ at: null })
  expect(verifyNote({ ...note, text: `${note.text.slice(0, -2)}!\n` }, peter)).toBeNull()
})

test('one changed byte is found anywhere in the note', () => {
  const bytes = Buffer.from(NOTE)
  for (let index = 0; index < bytes.length; index++) {
    const copy = Buffer.from(bytes)
    copy[index] = copy[index]! ^ 1
    const note = readNote(copy.toString('utf8'))
    expect(note === null ? null : verifyNote(note, log), `byte ${index}`).toBeNull()
  }
})

test('a key survives its text form; another name, key id or type is refused', () => {
  expect(readVerifier(log.vkey)).toMatchObject({ name: ORIGIN, kind: 'log', keyId: log.keyId })
  expect(readVerifier(log.vkey.replace('notifica', 'notificb'))).toBeNull()
  expect(readVerifier(log.vkey.replace(/\+[0-9a-f]{8}\+/, '+00000000+'))).toBeNull()
  expect(readVerifier('a+b')).toBeNull()
  const witness = makeVerifier('w.example', publicKey, 'witness')
  expect(readVerifier(witness.vkey)).toMatchObject({ kind: 'witness' })
  expect(witness.keyId).not.toEqual(makeVerifier('w.example', publicKey).keyId)
})

describe('a witness', () => {
  const pair = generateKeyPairSync('ed25519')
  const witness = makeVerifier('w.example/1', pair.publicKey, 'witness')
  const cosign = (text: string, seconds: number): string => {
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(BigInt(seconds))
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`), pair.privateKey)
    return `— w.example/1 ${Buffer.concat([witness.keyId, time, signature]).toString('base64')}\n`
  }

  test('signs the text and the time, beside the log', () => {
    const note = readNote(NOTE + cosign(TEXT, 1_700_000_000))!
    expect(verifyNote(note, log)).not.toBeNull()
    expect(verifyNote(note, witness)).toEqual({ at: new Date(1_700_000_000_000) })
  })

  test('another time, another text and another witness are refused', () => {
    const line = cosign(TEXT, 1_700_000_000)
    const bytes = Buffer.from(line.split(' ')[2]!, 'base64')
    bytes[11] = bytes[11]! ^ 1
    expect(verifyNote(readNote(`${NOTE}— w.example/1 ${bytes.toString('base64')}\n`)!, witness)).toBeNull()
    expect(verifyNote(readNote(NOTE + cosign(`${TEXT}x\n`, 1_700_000_000))!, witness)).toBeNull()
    expect(verifyNote(readNote(NOTE + line)!, makeVerifier('w.example/2', pair.publicKey, 'witness'))).toBeNull()
    expect(verifyNote(readNote(NOTE)!, witness)).toBeNull()
  })
})

test('an archive holds many notes; what a crash left half written is passed over', () => {
  const other = signNote(checkpointText(ORIGIN, 1300, Buffer.alloc(32, 6), AT), ORIGIN, privateKey)
  expect(splitNotes(`${NOTE}\n${other}\n`)).toEqual([NOTE, other])
  expect(splitNotes(NOTE)).toEqual([NOTE])
  expect(splitNotes(`${NOTE.slice(0, 60)}\n\n${NOTE}\n${other}`)).toEqual([NOTE, other])
  expect(splitNotes(NOTE.replaceAll('\n', '\r\n'))).toEqual([NOTE])
  expect(splitNotes('')).toEqual([])
})

test.each([
  ['no origin', '\n1\nAAAA\n'],
  ['a size with a zero before it', TEXT.replace('1234', '01234')],
  ['a negative size', TEXT.replace('1234', '-1')],
  ['a short root', TEXT.replace(/BQUF/, '')],
  ['an empty line', TEXT.replace('time', '\ntime')],
])('a checkpoint with %s is refused', (_, text) => {
  expect(readCheckpoint(text)).toBeNull()
})

test('the key of the note is the one of its private key', () => {
  const copy = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  expect(makeVerifier(ORIGIN, createPublicKey(copy)).vkey).toBe(log.vkey)
})
