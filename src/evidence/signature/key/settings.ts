/** What signs the documents, as the settings say it. */
export type SignatureSetting =
  | { kind: 'own' }
  /** The password is in the setting, or in a file. */
  | { kind: 'pkcs12'; file: string; password: { text: string } | { file: string } }
  /** issuersFile: the certificates of the authorities in PEM, which tokens often lack. */
  | { kind: 'pkcs11'; location: Pkcs11Location; issuersFile: string | null }

/** Where a token or an HSM has its key. */
export interface Pkcs11Location {
  module: string
  token: string
  /** The label of the key. Its certificate has the same identifier. */
  object: string
  pinFile: string
}

export const PKCS11_EXPECTED =
  'uma URI como pkcs11:token=NOME;object=CHAVE?module-path=/usr/lib/modulo.so&pin-source=file:/etc/carteiro/pin (RFC 7512)'

/**
 * Reads a PKCS#11 URI (RFC 7512): pkcs11:token=…;object=…?module-path=…&pin-source=file:…
 * null: it lacks one of the four.
 */
export function readPkcs11Uri(text: string): Pkcs11Location | null {
  const found = /^pkcs11:([^?]*)\?(.*)$/.exec(text)
  if (found === null) return null
  const attributes = (part: string, separator: string): Map<string, string> | null => {
    try {
      return new Map(
        part
          .split(separator)
          .map(pair => [pair.slice(0, pair.indexOf('=')), decodeURIComponent(pair.slice(pair.indexOf('=') + 1))]),
      )
    } catch {
      return null
    }
  }
  const path = attributes(found[1]!, ';')
  const query = attributes(found[2]!, '&')
  const [token, object] = [path?.get('token'), path?.get('object')]
  const [module, pin] = [query?.get('module-path'), query?.get('pin-source')]
  if (!token || !object || !module || !pin) return null
  return { token, object, module, pinFile: pin.replace(/^file:(\/\/)?/, '') }
}

interface Given {
  p12File: string | null
  p12Password: string | null
  p12PasswordFile: string | null
  pkcs11: Pkcs11Location | null
  issuersFile: string | null
}

/** `problem` is told what contradicts itself. */
export function chooseSignature(given: Given, problem: (text: string) => void): SignatureSetting {
  const { p12File, p12Password, p12PasswordFile, pkcs11, issuersFile } = given
  if (p12File !== null && pkcs11 !== null)
    problem('SIGNATURE_P12_FILE e SIGNATURE_PKCS11 não podem ser usadas juntas: escolha uma')
  if (p12Password !== null && p12PasswordFile !== null)
    problem('SIGNATURE_P12_PASSWORD e SIGNATURE_P12_PASSWORD_FILE não podem ser usadas juntas: escolha uma')
  if (p12File !== null)
    return {
      kind: 'pkcs12',
      file: p12File,
      password: p12PasswordFile === null ? { text: p12Password ?? '' } : { file: p12PasswordFile },
    }
  return pkcs11 === null ? { kind: 'own' } : { kind: 'pkcs11', location: pkcs11, issuersFile }
}
