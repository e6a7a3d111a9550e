/**
 * JSON Canonicalization Scheme (RFC 8785): the one text of a value, so that its hash can be recomputed by anyone.
 * ECMAScript's own number and string forms are the ones that the RFC prescribes; only key order is added here.
 */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('canonical JSON has no infinite numbers')
    return JSON.stringify(value)
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const object = value as { readonly [key: string]: Json }
  // The default sort compares UTF-16 code units, as RFC 8785 section 3.2.3 demands.
  const members = Object.keys(object)
    .sort()
    .map(key => `${JSON.stringify(key)}:${canonicalJson(object[key]!)}`)
  return `{${members.join(',')}}`
}
