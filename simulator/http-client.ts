import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

export interface HttpRequest {
  method: string
  headers: Record<string, string>
  body?: string | Buffer
}

export interface HttpAnswer {
  status: number
  location: string | undefined
  body: string
}

const TIMEOUT_MS = 10_000

/** One request on a connection of its own. A body longer than maxBytes is cut off. */
export function sendRequest(url: URL, request: HttpRequest, stop: AbortSignal, maxBytes = 65_536): Promise<HttpAnswer> {
  const { method, body } = request
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestHttps : requestHttp
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)])
    const sent = send(url, { method, headers: { ...request.headers, ...length }, signal, agent: false }, response => {
      let bytes = 0
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > maxBytes) response.destroy()
      })
      response.on('error', reject)
      response.on('close', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, location: headers.location, body: Buffer.concat(chunks).toString() })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
