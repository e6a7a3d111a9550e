/** An error of the Graph API. */
export class GraphFault extends Error {
  readonly status: number
  readonly code: number
  readonly details: string

  constructor(code: number, details = '') {
    const [status, message] = FAULTS[code] ?? [400, 'Unknown error']
    super(`(#${code}) ${message}`)
    this.name = 'GraphFault'
    this.status = status
    this.code = code
    this.details = details
  }
}

const FAULTS: Readonly<Record<number, readonly [number, string]>> = {
  33: [400, 'The business phone number has been deleted'],
  100: [400, 'Invalid parameter'],
  190: [401, 'Access token has expired or is invalid'],
  130429: [429, 'Rate limit hit'],
  131000: [500, 'Something went wrong'],
  131008: [400, 'Required parameter is missing'],
  131009: [400, 'Parameter value is not valid'],
  131016: [503, 'Service unavailable'],
  131026: [400, 'Message undeliverable'],
  131047: [400, 'Re-engagement message'],
  131049: [400, 'Not delivered to maintain healthy ecosystem engagement'],
  131050: [400, 'User has stopped marketing messages'],
  132000: [400, 'Number of parameters does not match the expected number of params'],
  132001: [404, 'Template name does not exist in the translation'],
  132018: [400, 'There is an issue with the parameters in your template'],
}

/** The title of an error code in failure reports. */
export const titleOf = (code: number): string => FAULTS[code]?.[1] ?? 'Unknown error'

export const faultBody = ({ message, code, details }: GraphFault, trace: string) => ({
  error: {
    message,
    type: 'OAuthException',
    code,
    error_data: { messaging_product: 'whatsapp', details },
    fbtrace_id: trace,
  },
})
