import { Agent as HttpAgent, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'

/** What came back, or how far the request got: only one that never left may be repeated without a thought. */
export type Posted =
  | { status: number; retryAfter: string | null; body: string }
  | { failed: 'unsent' | 'unanswered'; cause: Error }

export interface FormPoster {
  post(url: string, form: URLSearchParams, authorization: string, signal: AbortSignal): Promise<Posted>
  close(): void
}

const MAX_ANSWER = 262_144

export function createFormPoster(connections: number): FormPoster {
  const http = new HttpAgent({ keepAlive: true, maxSockets: connections })
  const https = new HttpsAgent({ keepAlive: true, maxSockets: connections })
  return {
    post: (url, form, authorization, signal) =>
      new Promise(resolve => {
        const body = form.toString()
        const headers = {
          authorization,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': Buffer.byteLength(body),
        }
        let left = false
        const fail = (cause: Error): void => resolve({ failed: left ? 'unanswered' : 'unsent', cause })
        const secure = url.startsWith('https:')
        const options = { method: 'POST', headers, signal, agent: secure ? https : http }
        const asked = (secure ? requestHttps : requestHttp)(url, options, response => {
          const chunks: Buffer[] = []
          let bytes = 0
          response.on('data', (chunk: Buffer) => {
            bytes += chunk.length
            chunks.push(chunk)
            if (bytes > MAX_ANSWER) response.destroy(new Error('the answer is too long'))
          })
          response.on('error', fail)
          response.on('end', () => {
            const retryAfter = response.headers['retry-after'] ?? null
            resolve({ status: response.statusCode ?? 0, retryAfter, body: Buffer.concat(chunks).toString('utf8') })
          })
        })
        // Until the connection stands nothing can have left; from then on something may have.
        asked.on('socket', socket => {
          if (!socket.connecting) left = true
          else socket.once(secure ? 'secureConnect' : 'connect', () => (left = true))
        })
        asked.on('error', fail)
        asked.end(body)
      }),
    close() {
      http.destroy()
      https.destroy()
    },
  }
}
