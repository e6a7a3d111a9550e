/** Decodes percent-encoded text. null: it has a percent sign that is not part of a code. */
export function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
