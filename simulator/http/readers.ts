import { refuse } from '../../src/domain/errors.js'

export type Query = Record<string, string | string[] | undefined>

/** An empty parameter counts as absent. */
export function readText(query: Query, name: string): string | undefined {
  const value = query[name]
  if (Array.isArray(value)) return refuse('notText', name)
  return value === '' ? undefined : value
}

export function readNumber(query: Query, name: string, fallback: number, max: number): number {
  const text = readText(query, name)
  if (text === undefined) return fallback
  if (!/^\d{1,9}$/.test(text) || Number(text) > max) return refuse('wrongValue', name)
  return Number(text)
}

export function readObject(body: unknown): Record<string, unknown> {
  if (body === undefined || body === null) return refuse('emptyBody')
  if (typeof body !== 'object' || Array.isArray(body) || body instanceof URLSearchParams) return refuse('notObject')
  return body as Record<string, unknown>
}

export function readUrl(value: unknown, field: string, protocols: string[]): URL {
  if (typeof value !== 'string') return refuse('notText', field)
  return URL.canParse(value) && protocols.includes(new URL(value).protocol) ? new URL(value) : refuse('wrongValue', field)
}

export const readForm = (body: unknown): URLSearchParams => (body instanceof URLSearchParams ? body : new URLSearchParams())
