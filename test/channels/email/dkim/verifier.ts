import { createHash, createPublicKey, verify } from 'node:crypto'

/** A verifier of its own, straight from RFC 6376, on whole strings. */
export function isSigned(message: Buffer, privateKeyPem: string): boolean {
  const text = message.toString('latin1')
  const split = text.indexOf('\r\n\r\n')
  const fields = text
    .slice(0, split)
    .replace(/\r\n(?=[ \t])/g, '')
    .split('\r\n')
    .map(line => ({ name: line.slice(0, line.indexOf(':')).toLowerCase(), value: line.slice(line.indexOf(':') + 1) }))
  const relax = (value: string): string => value.replace(/[ \t]+/g, ' ').trim()
  const signature = fields.shift()!
  if (signature.name !== 'dkim-signature') return false
  const tags = new Map(
    signature.value.split(';').map(tag => {
      const at = tag.indexOf('=')
      return [tag.slice(0, at).trim(), tag.slice(at + 1).replace(/\s/g, '')]
    }),
  )
  const body = text
    .slice(split + 4)
    .replace(/[ \t]+/g, ' ')
    .replace(/ \r\n/g, '\r\n')
    .replace(/(\r\n)*$/, '\r\n')
  const bodyHash = createHash('sha256')
    .update(body === '\r\n' ? '' : body, 'latin1')
    .digest('base64')
  if (bodyHash !== tags.get('bh')) return false
  const left = [...fields]
  const signed = tags
    .get('h')!
    .split(':')
    .flatMap(name => {
      const at = left.findLastIndex(field => field.name === name)
      return at === -1 ? [] : left.splice(at, 1).map(field => `${name}:${relax(field.value)}\r\n`)
    })
    .join('')
  const unsigned = `dkim-signature:${relax(signature.value.replace(/(\bb=)[^;]*$/, '$1'))}`
  const data = Buffer.from(signed + unsigned, 'latin1')
  const key = createPublicKey(privateKeyPem)
  const value = Buffer.from(tags.get('b')!, 'base64')
  return tags.get('a') === 'rsa-sha256'
    ? verify('sha256', data, key, value)
    : verify(null, createHash('sha256').update(data).digest(), key, value)
}
