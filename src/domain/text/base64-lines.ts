const [CR, LF] = [13, 10] as const
/** RFC 2045 6.8: an encoded line has at most 76 characters. */
const LINE = 76

/** Base64 in lines of 76 characters that end with CRLF, the last one too: the form of files in e-mails. */
export function base64Lines(bytes: Uint8Array): Buffer {
  const encoded = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  const target = Buffer.allocUnsafe(encoded.length + Math.ceil(encoded.length / LINE) * 2)
  let length = 0
  for (let at = 0; at < encoded.length; at += LINE) {
    length += target.write(encoded.slice(at, at + LINE), length, 'latin1')
    target[length++] = CR
    target[length++] = LF
  }
  return target.subarray(0, length)
}

/** How many bytes the lines of so many bytes have. */
export function base64LinesLength(bytes: number): number {
  const encoded = 4 * Math.ceil(bytes / 3)
  return encoded + 2 * Math.ceil(encoded / LINE)
}
