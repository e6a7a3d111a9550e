import { hash } from 'node:crypto'
import { MIB } from '../../domain/units.js'
import { reasonOf } from '../failed-fetch.js'
import { type ListedObject, type ObjectStore, ObjectStoreFault } from './object-store.js'
import { encodeSegment, type S3Account, signRequest } from './s3-signature.js'

/** A bucket, and a prefix of names in it. */
export interface S3Place extends S3Account {
  /** Without a slash at its end: https://server/bucket/prefix. */
  url: string
  /** Without secrets. */
  name: string
}

const EMPTY = hash('sha256', '', 'hex')
/** A request may take this long, and a second more for each 512 KiB of its object. */
const TIMEOUT_MS = 20_000
const BYTES_PER_MS = 524
/** Above any answer that is no object: errors, and a list of 1,000 names. */
const MAX_ANSWER = 4 * MIB

/** The object ends before the range that was asked for. */
const NOT_FOUND = 404
const PAST_END = 416

interface Asked {
  method: 'GET' | 'PUT' | 'DELETE'
  address: string
  digest?: string
  headers?: Record<string, string>
  body?: Uint8Array
  /** Bytes that travel. */
  size?: number
}

/** Objects of a bucket. The address has the bucket as the first part of its path ("path style"), which every service takes. */
export function openS3(place: S3Place): ObjectStore {
  const addressOf = (object: string): string => `${place.url}/${object.split('/').map(encodeSegment).join('/')}`
  const ask = (asked: Asked): Promise<Response> => request(place, asked)
  return {
    name: place.name,
    async put(object, bytes, sha256) {
      const asked = { method: 'PUT', address: addressOf(object), digest: sha256, body: bytes, size: bytes.length } as const
      await requireSuccess(place, await ask({ ...asked, headers: { 'content-type': 'application/octet-stream' } }))
    },
    async read(object, from, length) {
      const headers = length === 0 ? {} : { range: `bytes=${from}-${from + length - 1}` }
      const response = await ask({ method: 'GET', address: addressOf(object), headers, size: length })
      if (response.status === PAST_END) return drained(response, Buffer.alloc(0))
      if (response.status !== 200 && response.status !== 206) {
        const answer = await textOf(response)
        if (isMissing(response.status, answer)) return null
        throw refused(place, response.status, answer)
      }
      // 200: the service does not know ranges, and sends the whole object.
      const skipped = response.status === 200 ? from : 0
      return (await bytesOf(place, response, skipped + length)).subarray(skipped, skipped + length)
    },
    async delete(object) {
      const response = await ask({ method: 'DELETE', address: addressOf(object) })
      const answer = await textOf(response)
      // S3 answers 204 for an object that is not there; other services say that it is missing.
      if (!response.ok && !isMissing(response.status, answer)) throw refused(place, response.status, answer)
    },
    list: folder => listObjects(place, folder),
    async listFolders() {
      const folders: string[] = []
      for await (const { answer, base } of listPages(place, '', { delimiter: '/' }))
        for (const [, entry] of answer.matchAll(/<CommonPrefixes>(.*?)<\/CommonPrefixes>/gs))
          folders.push(memberOf(entry!, 'Prefix').slice(base.length, -1))
      return folders
    },
  }
}

async function request(
  place: S3Place,
  { method, address, digest = EMPTY, headers = {}, body, size = 0 }: Asked,
): Promise<Response> {
  try {
    return await fetch(address, {
      method,
      headers: { ...headers, ...signRequest(method, address, digest, place, new Date()) },
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      signal: AbortSignal.timeout(TIMEOUT_MS + Math.ceil(size / BYTES_PER_MS)),
      // As an answer, not followed: the service of another region says so by a redirect, and the signature is of one address.
      redirect: 'manual',
    })
  } catch (error) {
    throw away(place, error)
  }
}

function away({ name }: S3Place, error: unknown): ObjectStoreFault {
  const why = (error as Error).name === 'TimeoutError' ? 'não respondeu a tempo' : `não respondeu (${reasonOf(error)})`
  return new ObjectStoreFault(`O serviço S3 ${name} ${why}. Confira o endereço e a rede.`, { cause: error })
}

const CHECK_REGION = 'Confira a região (#region=) e o endereço.'
const CURES: Readonly<Record<number, string>> = {
  301: CHECK_REGION,
  307: CHECK_REGION,
  400: CHECK_REGION,
  403: 'Confira a chave, o segredo e o que ela pode: ler, gravar, apagar e listar.',
  404: 'Confira o endereço e o nome do balde.',
}

const codeOf = (answer: string): string | undefined => /<Code>([\w.-]{1,80})<\/Code>/.exec(answer)?.[1]

/** Only a service that speaks S3 knows of an object: a 404 of a proxy, or of a wrong address, says nothing of it. */
const isMissing = (status: number, answer: string): boolean => status === NOT_FOUND && codeOf(answer) === 'NoSuchKey'

function refused({ name }: S3Place, status: number, answer: string): ObjectStoreFault {
  const code = codeOf(answer)
  const said = `HTTP ${status}${code === undefined ? '' : ` ${code}`}`
  return new ObjectStoreFault(`O serviço S3 ${name} respondeu ${said}. ${CURES[status] ?? 'Confira o serviço e tente de novo.'}`)
}

async function requireSuccess(place: S3Place, response: Response): Promise<void> {
  const answer = await textOf(response)
  if (!response.ok) throw refused(place, response.status, answer)
}

async function drained<T>(response: Response, value: T): Promise<T> {
  await response.body?.cancel()
  return value
}

async function textOf(response: Response): Promise<string> {
  try {
    return (await response.text()).slice(0, MAX_ANSWER)
  } catch {
    return ''
  }
}

/** The body, read no further than is needed. */
async function bytesOf(place: S3Place, response: Response, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= most) break
    }
  } catch (error) {
    throw away(place, error)
  }
  return Buffer.concat(chunks)
}

async function* listObjects(place: S3Place, folder: string): AsyncGenerator<ListedObject[]> {
  for await (const { answer, base } of listPages(place, `${folder}/`))
    yield readList(answer).map(found => ({ ...found, name: found.name.slice(base.length) }))
}

/** ListObjectsV2, page by page. `base`: what the place puts before every name. */
async function* listPages(
  place: S3Place,
  start: string,
  options: Record<string, string> = {},
): AsyncGenerator<{ answer: string; base: string }> {
  const { origin, pathname } = new URL(place.url)
  const [bucket, ...prefix] = pathname.slice(1).split('/').map(decodeURIComponent)
  const base = prefix.map(part => `${part}/`).join('')
  for (let token: string | null = ''; token !== null; ) {
    const query = { 'list-type': '2', prefix: base + start, ...options, ...(token === '' ? {} : { 'continuation-token': token }) }
    const text = Object.entries(query).map(([name, value]) => `${name}=${encodeSegment(value)}`)
    const address = `${origin}/${encodeSegment(bucket!)}?${text.join('&')}`
    const response = await request(place, { method: 'GET', address })
    const answer = await textOf(response)
    if (!response.ok) throw refused(place, response.status, answer)
    requireList(answer)
    yield { answer, base }
    const next = /<NextContinuationToken>([^<]+)<\/NextContinuationToken>/.exec(answer)?.[1]
    token = next === undefined ? null : decodeEntities(next)
  }
}

function requireList(answer: string): void {
  if (!answer.includes('<ListBucketResult')) throw new ObjectStoreFault('O serviço S3 não respondeu com uma lista de objetos.')
}

const memberOf = (entry: string, name: string): string =>
  decodeEntities(new RegExp(`<${name}>([^<]*)</${name}>`).exec(entry)?.[1] ?? '')

const readList = (answer: string): ListedObject[] =>
  [...answer.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, entry]) => ({
    name: memberOf(entry!, 'Key'),
    size: Number(memberOf(entry!, 'Size')),
    modifiedAt: new Date(memberOf(entry!, 'LastModified')),
  }))

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const decodeEntities = (text: string): string =>
  text
    .replace(/&#(x?)([0-9a-f]+);/gi, (_, hex: string, digits: string) =>
      String.fromCodePoint(Number.parseInt(digits, hex === '' ? 10 : 16)),
    )
    .replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!)
