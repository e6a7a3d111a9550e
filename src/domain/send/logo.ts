export const MAX_LOGO_BYTES = 100_000
/** 100 kB can hold a picture of a gigabyte, which every letter would unpack again. */
const MAX_LOGO_PIXELS = 4_000_000

/** Where a logo is served: the path contains the hash, so that it may be cached without end. */
export const logoPath = (sha256: string): string => `/r/logo/${sha256}`

/** The media type of a logo, read from its bytes and never from its name; null: the bytes are none of the kinds that are shown. */
export function logoType(bytes: Buffer): string | null {
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'image/png'
  if (bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'image/jpeg'
  const text = bytes.toString('utf8')
  const isSvg = /^\uFEFF?\s*(<\?xml[^>]*\?>\s*)?(<!--[\s\S]*?-->\s*)*<svg[\s>]/.test(text) && !text.includes('\uFFFD')
  return isSvg ? 'image/svg+xml' : null
}

/** Why the bytes cannot be a logo, in Portuguese; null: they can. */
export function findLogoProblem(bytes: Buffer): string | null {
  if (bytes.length > MAX_LOGO_BYTES) return `O logotipo tem ${bytes.length} bytes; o limite é ${MAX_LOGO_BYTES}. Reduza a imagem.`
  if (logoType(bytes) === null) return 'O conteúdo não é uma imagem PNG, JPEG ou SVG. O conteúdo é conferido, não o nome.'
  const { width, height } = pictureSize(bytes) ?? { width: 0, height: 0 }
  return width * height > MAX_LOGO_PIXELS
    ? `O logotipo tem ${width} × ${height} pixels; o limite é de ${MAX_LOGO_PIXELS} ao todo, como 2000 × 2000. Reduza a imagem.`
    : null
}

export interface PictureSize {
  width: number
  height: number
}

/** The size of a PNG or JPEG in its own pixels; null for anything else. */
export function pictureSize(bytes: Buffer): PictureSize | null {
  const type = logoType(bytes)
  const size = type === 'image/png' ? pngSize(bytes) : type === 'image/jpeg' ? jpegSize(bytes) : null
  return size !== null && size.width > 0 && size.height > 0 ? size : null
}

/** The first chunk of a PNG is IHDR, which begins with the size. */
const pngSize = (bytes: Buffer): PictureSize | null =>
  bytes.length >= 24 ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) } : null

/** The size is in the frame header of a JPEG: a segment SOF0 to SOF15, which DHT, JPG and DAC are not. */
function jpegSize(bytes: Buffer): PictureSize | null {
  let at = 2
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1]!
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    // 0xff may be repeated as filling before a marker.
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
  return null
}
