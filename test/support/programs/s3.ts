import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, onTestFinished } from 'vitest'

/** A little S3: it takes what is signed for its account, as the documentation of AWS Signature V4 says it is checked. */
export interface S3Server {
  host: string
  /** FILES_URL of a place in it. */
  url(bucket: string): string
  /** By the path of the request. */
  objects: Map<string, { body: Buffer; at: Date }>
  /** What it was asked, without the bodies: PUT /b/x. */
  asked: string[]
  /** Answers every request with this status; null: as it should. */
  failWith: number | null
  close(): Promise<void>
}

export const S3_ACCOUNT = { accessKey: 'AKIDEXAMPLE', secretKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }

export interface SignedRequest {
  method: string
  /** With its query. */
  path: string
  headers: IncomingHttpHeaders
  body: Buffer | string
}

const sha = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex')

export function isSigned({ method, path, headers, body }: SignedRequest, account = S3_ACCOUNT): boolean {
  const [, key, day, region, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    ) ?? []
  if (key !== account.accessKey) return false
  const [route, query = ''] = path.split('?')
  const signedHeaders = names!.split(';').map(name => `${name}:${String(headers[name]).trim()}\n`)
  const request = `${method}\n${route}\n${query.split('&').sort().join('&')}\n${signedHeaders.join('')}\n${names}\n${sha(body)}`
  const text = `AWS4-HMAC-SHA256\n${headers['x-amz-date'] as string}\n${day}/${region}/s3/aws4_request\n${sha(request)}`
  let derived: Buffer = Buffer.from(`AWS4${account.secretKey}`)
  for (const step of [day!, region!, 's3', 'aws4_request']) derived = createHmac('sha256', derived).update(step).digest()
  return headers['x-amz-content-sha256'] === sha(body) && createHmac('sha256', derived).update(text).digest('hex') === signature
}

export async function s3ForTest(options: { page?: number } = {}): Promise<S3Server> {
  const server = await startS3(options)
  onTestFinished(() => server.close())
  return server
}

export async function s3ForFile(options: { page?: number } = {}): Promise<S3Server> {
  const server = await startS3(options)
  afterAll(() => server.close())
  return server
}

/** `page`: how many objects a list has at most. */
async function startS3({ page = 1_000 }: { page?: number }): Promise<S3Server> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      const [method, path] = [request.method!, request.url!]
      s3.asked.push(`${method} ${path.split('?')[0]}`)
      if (s3.failWith !== null) return refuse(response, s3.failWith, 'InternalError')
      if (!isSigned({ method, path, headers: request.headers, body })) return refuse(response, 403, 'SignatureDoesNotMatch')
      if (path.includes('?list-type=2')) return list(s3.objects, path, page, response)
      if (method === 'PUT') s3.objects.set(path, { body, at: new Date() })
      if (method === 'PUT') response.writeHead(200).end()
      else if (method === 'DELETE' && s3.objects.delete(path)) response.writeHead(204).end()
      else serve(s3.objects.get(path)?.body, request.headers.range, response)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const s3: S3Server = {
    host,
    url: bucket =>
      `s3+http://${S3_ACCOUNT.accessKey}:${encodeURIComponent(S3_ACCOUNT.secretKey)}@${host}/${bucket}#region=sa-east-1`,
    objects: new Map(),
    asked: [],
    failWith: null,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return s3
}

const refuse = (response: ServerResponse, status: number, code: string): ServerResponse =>
  response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`)

function serve(body: Buffer | undefined, range: string | undefined, response: ServerResponse): ServerResponse {
  if (body === undefined) return refuse(response, 404, 'NoSuchKey')
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? '') ?? []
  if (from === undefined) return response.writeHead(200).end(body)
  if (Number(from) >= body.length) return refuse(response, 416, 'InvalidRange')
  return response.writeHead(206).end(body.subarray(Number(from), Number(to) + 1))
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function list(objects: S3Server['objects'], path: string, page: number, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(path, 'http://s3')
  const start = `${decodeURIComponent(pathname)}/`
  const all = [...objects]
    .map(([route, object]) => ({ key: decodeURIComponent(route), ...object }))
    .filter(({ key }) => key.startsWith(start + searchParams.get('prefix')!))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .filter(({ key }) => key > (searchParams.get('continuation-token') ?? ''))
  if (searchParams.get('delimiter') === '/') {
    const prefix = searchParams.get('prefix')!
    const parts = new Set(all.map(({ key }) => prefix + key.slice(start.length + prefix.length).split('/')[0]))
    const prefixes = [...parts].map(part => `<CommonPrefixes><Prefix>${escaped(part)}/</Prefix></CommonPrefixes>`)
    response.writeHead(200).end(`<?xml version="1.0"?><ListBucketResult>${prefixes.join('')}</ListBucketResult>`)
    return
  }
  const shown = all.slice(0, page)
  const next = all.length > page ? `<NextContinuationToken>${escaped(shown.at(-1)!.key)}</NextContinuationToken>` : ''
  const entries = shown.map(
    ({ key, body, at }) =>
      `<Contents><Key>${escaped(key.slice(start.length))}</Key><LastModified>${at.toISOString()}</LastModified><Size>${body.length}</Size></Contents>`,
  )
  response.writeHead(200).end(`<?xml version="1.0"?><ListBucketResult>${next}${entries.join('')}</ListBucketResult>`)
}
