/** Colours as WCAG 2.2 sees them. */
const HEX = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/

/** '#1a2b3c' in lower case, or null when the text is no such colour. */
export const readColor = (text: string): string | null => (HEX.test(text.toLowerCase()) ? text.toLowerCase() : null)

/** Contrast with white, from 1 to 21 (WCAG 2.2, "relative luminance"). */
export function contrastWithWhite(color: string): number {
  const [red, green, blue] = HEX.exec(color)!
    .slice(1)
    .map(part => linear(Number.parseInt(part, 16) / 255)) as [number, number, number]
  return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)
}

const linear = (part: number): number => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
