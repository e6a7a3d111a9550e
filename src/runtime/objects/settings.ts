import { fileURLToPath } from 'node:url'
import { decodePercent } from '../../domain/text/percent.js'
import { openFolder } from './folder.js'
import type { ObjectStore } from './object-store.js'
import { openS3, type S3Place } from './s3.js'
import { encodeSegment } from './s3-signature.js'

export type ObjectStoreSetting = { kind: 'folder'; path: string } | ({ kind: 's3' } & S3Place)

export const OBJECT_STORE_EXPECTED =
  'file:///pasta/absoluta ou s3+https://CHAVE:SEGREDO@servidor/balde/prefixo#region=…; sem valor, os arquivos ficam no banco de dados'

const DEFAULT_REGION = 'us-east-1'

/** null: it is not understood. */
export function readObjectStore(text: string): ObjectStoreSetting | null {
  const address = text.replace(/^s3\+(?=https?:)/i, '')
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  if (url.protocol === 'file:') return readFolder(url)
  if (address === text || !['http:', 'https:'].includes(url.protocol)) return null
  const options = new URLSearchParams(url.hash.slice(1))
  if ([...options.keys()].some(name => name !== 'region')) return null
  url.hash = ''
  const place = readS3Place(url, options.get('region'))
  return place && { kind: 's3', ...place }
}

function readFolder(url: URL): ObjectStoreSetting | null {
  if (url.host !== '' || url.search !== '' || url.hash !== '') return null
  try {
    const path = fileURLToPath(url).replace(/\/+$/, '')
    return path === '' ? null : { kind: 'folder', path }
  } catch {
    return null
  }
}

/** From an http or https address with the keys as user and password. null: something is missing. */
export function readS3Place(address: URL, region: string | null): S3Place | null {
  const { origin, pathname, search, hash, username, password } = address
  const [accessKey, secretKey] = [username, password].map(decodePercent)
  const path = pathname.replace(/\/+$/, '').split('/').map(decodePercent)
  if (search !== '' || hash !== '' || path.length < 2 || path.includes(null) || !accessKey || !secretKey) return null
  // As the signature has them: a server need not know that two spellings are the same.
  const url = `${origin}${path.map(segment => encodeSegment(segment!)).join('/')}`
  return { url, name: `s3+${origin}${pathname}`, region: region || DEFAULT_REGION, accessKey, secretKey }
}

export const openObjectStore = (setting: ObjectStoreSetting): ObjectStore =>
  setting.kind === 'folder' ? openFolder(setting.path) : openS3(setting)
