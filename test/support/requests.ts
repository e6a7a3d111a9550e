/** A request that every rule accepts; tests change one thing at a time. */
export const validSend = {
  nameTo: 'Maria da Silva',
  to: 'maria@example.com',
  subject: 'Aviso de vencimento',
  content: '<p>Seu contrato vence em 30 dias.</p>',
}

export interface Answer {
  status: number
  headers: Headers
  body: unknown
}

/** Sends JSON (or raw text) and reads the JSON answer. */
export async function request(
  url: string,
  {
    method = 'GET',
    token,
    body,
    headers = {},
  }: { method?: string; token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

export const send = (url: string, token: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  request(`${url}/gw/email`, { method: 'POST', token, body, headers })

/** The error body of section 7 for a status. */
export const errorBody = (statusCode: number, message: unknown, error: string) => ({ statusCode, message, error })
