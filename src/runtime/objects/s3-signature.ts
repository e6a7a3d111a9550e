import { createHmac, hash } from 'node:crypto'

/** Credentials and region for signing S3 requests. */
export interface S3Account {
  region: string
  accessKey: string
  secretKey: string
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/** RFC 3986: only these characters stay as they are. */
export const encodeSegment = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const sortedQuery = (url: URL): string =>
  [...url.searchParams]
    .map(([name, value]) => `${encodeSegment(name)}=${encodeSegment(value)}`)
    .sort()
    .join('&')

/** The headers of a request (AWS Signature, version 4). `digest`: SHA-256 of the body, in hexadecimal. */
export function signRequest(
  method: 'GET' | 'PUT' | 'DELETE',
  address: string,
  digest: string,
  { region, accessKey, secretKey }: S3Account,
  at: Date,
): Record<string, string> {
  const url = new URL(address)
  const stamp = at.toISOString().replace(/[-:]|\.\d{3}/g, '')
  const day = stamp.slice(0, 8)
  const signed = 'host;x-amz-content-sha256;x-amz-date'
  const canonical = [
    method,
    url.pathname
      .split('/')
      .map(segment => encodeSegment(decodeURIComponent(segment)))
      .join('/'),
    sortedQuery(url),
    `host:${url.host}`,
    `x-amz-content-sha256:${digest}`,
    `x-amz-date:${stamp}`,
    '',
    signed,
    digest,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', stamp, scope, hash('sha256', canonical, 'hex')].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce(hmac, hmac(`AWS4${secretKey}`, day))
  const signature = hmac(key, text).toString('hex')
  return {
    'x-amz-content-sha256': digest,
    'x-amz-date': stamp,
    authorization: `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
  }
}
