const RIGHT_TO_LEFT = /[\p{Bidi_Control}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u
/** Entities of drawing programs are addresses. Other entities may compose a text that is found nowhere in the file. */
const ENTITY = /<!ENTITY(?!\s+\S+\s+(["'])https?:[^"'&]*\1)/i
/** A picture inside the picture, other than those that have no text. */
const DRAWN_INSIDE = /data:(?!(?:image\/(?:png|jpe?g|gif|webp)|(?:font|application)\/[\w.+-]+)[;,])/i

/** Whether an SVG may have text from right to left, at which the typesetter aborts the whole process. */
export function mayReadBackwards(svg: Uint8Array): boolean {
  const text = Buffer.from(svg)
    .toString()
    .replace(/&#(?:x([0-9a-f]+)|(\d+));/gi, (_, hex?: string, digits?: string) => {
      const code = hex === undefined ? Number(digits) : Number.parseInt(hex, 16)
      return code > 0x10ffff ? '' : String.fromCodePoint(code)
    })
  return RIGHT_TO_LEFT.test(text) || ENTITY.test(text) || DRAWN_INSIDE.test(text.replace(/[\t\n\r]/g, ''))
}
