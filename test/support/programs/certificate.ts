import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate of its own authority for the given names, made on the spot: no private key lies in the project. */
export function selfSigned(
  names: readonly string[],
  notAfter = new Date(Date.now() + 86_400_000),
): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const algorithm = sequence(oid('2a8648ce3d040302')) // ecdsa-with-SHA256
  const name = sequence(set(sequence(oid('550403'), element(0x0c, Buffer.from(names[0]!)))))
  const alternatives = names.map(text =>
    isIP(text) === 4 ? element(0x87, Buffer.from(text.split('.').map(Number))) : element(0x82, Buffer.from(text)),
  )
  const extensions = sequence(
    sequence(oid('551d11'), element(0x04, sequence(...alternatives))),
    sequence(oid('551d13'), element(0x01, Buffer.from([0xff])), element(0x04, sequence(element(0x01, Buffer.from([0xff]))))),
  )
  const body = sequence(
    element(0xa0, element(0x02, Buffer.from([2]))),
    element(0x02, Buffer.concat([Buffer.from([1]), createHash('sha256').update(spki).digest().subarray(0, 8)])),
    algorithm,
    name,
    sequence(time(new Date(Date.now() - 86_400_000 * 2)), time(notAfter)),
    name,
    spki,
    element(0xa3, extensions),
  )
  const signature = element(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]))
  const base64 = sequence(body, algorithm, signature)
    .toString('base64')
    .match(/.{1,64}/g)!
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: ['-----BEGIN CERTIFICATE-----', ...base64, '-----END CERTIFICATE-----', ''].join('\n'),
  }
}

/** DER: tag, length, content. */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

const sequence = (...parts: Buffer[]): Buffer => element(0x30, Buffer.concat(parts))
const set = (...parts: Buffer[]): Buffer => element(0x31, Buffer.concat(parts))
const oid = (hex: string): Buffer => element(0x06, Buffer.from(hex, 'hex'))
const time = (date: Date): Buffer => element(0x17, Buffer.from(`${date.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
