/** Pictures that an account may show above its pages. The type of a file is read from its bytes, never from its name. */
export const MAX_LOGO_BYTES = 100_000

/** The media type of a logo, or null when the bytes are none of the kinds that are shown. */
export function logoType(bytes: Buffer): string | null {
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'image/png'
  if (bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'image/jpeg'
  const text = bytes.toString('utf8')
  const isSvg = /^\uFEFF?\s*(<\?xml[^>]*\?>\s*)?(<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(text) && !text.includes('\uFFFD')
  return isSvg ? 'image/svg+xml' : null
}
