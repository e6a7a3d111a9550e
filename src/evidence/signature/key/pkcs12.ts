import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import forge from 'node-forge'
import { OperatorError } from '../../../domain/errors.js'
import { readCertificate } from '../certificate-facts.js'
import type { SigningKey } from '../cms-writing.js'
import { certificateOf, requireUsable, signingKey } from './private-key.js'

const SETTING = 'SIGNATURE_P12_FILE'

/**
 * Reads a PKCS#12 file (.p12, .pfx). By node-forge, because certification authorities in Brazil deliver these files with RC2 and
 * 3DES, which OpenSSL 3 and WebCrypto do not read.
 */
export function readPkcs12(path: string, password: string, now: Date): SigningKey {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler o certificado em ${path} (${SETTING}).`, { cause })
  }
  const { keys, certificates } = open(bytes, path, password)
  for (const key of keys) {
    const certificate = certificateOf(key, certificates)
    if (certificate === undefined) continue
    requireUsable(certificate, SETTING, now)
    return signingKey(key, certificate, certificates)
  }
  throw new OperatorError(`${SETTING}: ${path} não tem uma chave privada com o certificado dela.`)
}

function open(bytes: Buffer, path: string, password: string): { keys: KeyObject[]; certificates: X509Certificate[] } {
  let contents: forge.pkcs12.Pkcs12Pfx
  try {
    contents = decrypt(bytes, password)
  } catch (cause) {
    const isPassword = /password|mac could not be verified/i.test(String((cause as Error).message))
    const why = isPassword ? 'não abre com a senha de SIGNATURE_P12_PASSWORD' : 'não é um arquivo PKCS#12 (.p12, .pfx)'
    throw new OperatorError(`${SETTING}: ${path} ${why}.`, { cause })
  }
  const bags = contents.safeContents.flatMap(({ safeBags }) => safeBags)
  const { certBag, keyBag, pkcs8ShroudedKeyBag } = forge.pki.oids
  return {
    keys: bags.filter(({ type }) => type === keyBag || type === pkcs8ShroudedKeyBag).flatMap(readKey),
    certificates: bags.filter(({ type }) => type === certBag).flatMap(readBagCertificate),
  }
}

/**
 * PKCS#12 has two encodings of a password: UTF-16 in its MAC and its old ciphers, UTF-8 in PBES2. node-forge takes the password's
 * characters as bytes in the latter. The second attempt leaves the MAC out, which the first one has checked.
 */
function decrypt(bytes: Buffer, password: string): forge.pkcs12.Pkcs12Pfx {
  const read = (): forge.asn1.Asn1 => forge.asn1.fromDer(bytes.toString('binary'))
  try {
    return forge.pkcs12.pkcs12FromAsn1(read(), password)
  } catch (error) {
    const encoded = forge.util.encodeUtf8(password)
    if (encoded === password || !/decrypt/i.test((error as Error).message)) throw error
    const structure = read()
    structure.value = (structure.value as forge.asn1.Asn1[]).slice(0, 2)
    return forge.pkcs12.pkcs12FromAsn1(structure, encoded)
  }
}

/** node-forge gives the keys that it knows (RSA) as objects, and others as their structure. */
function readKey({ key, asn1 }: forge.pkcs12.Bag): KeyObject[] {
  const structure = key ? forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(key)) : asn1
  return structure === undefined ? [] : [createPrivateKey({ key: derOf(structure), format: 'der', type: 'pkcs8' })]
}

function readBagCertificate({ cert, asn1 }: forge.pkcs12.Bag): X509Certificate[] {
  const structure = cert ? forge.pki.certificateToAsn1(cert) : asn1
  return structure === undefined ? [] : [readCertificate(derOf(structure))]
}

const derOf = (structure: forge.asn1.Asn1): Buffer => Buffer.from(forge.asn1.toDer(structure).getBytes(), 'binary')
