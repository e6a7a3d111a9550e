const WEIGHTS = [8, 6, 4, 2, 3, 5, 9, 7]
const CODE = /^[A-Z]{2}(\d{8})(\d)[A-Z]{2}$/

/**
 * The code of registered post (UPU S10: two letters, eight digits and their check digit, the country) as it is printed, or null when a
 * digit was misread: a wrong code would show somebody else's letter.
 */
export function readTrackingCode(text: string): string | null {
  const code = text.replace(/[\s.-]/g, '').toUpperCase()
  const [, serial, digit] = CODE.exec(code) ?? []
  return serial !== undefined && String(checkDigit(serial)) === digit ? code : null
}

/** The check digit for the eight digits of a serial number. */
export function checkDigit(serial: string): number {
  const sum = WEIGHTS.reduce((total, weight, place) => total + weight * Number(serial[place]), 0)
  const rest = 11 - (sum % 11)
  return rest === 10 ? 0 : rest === 11 ? 5 : rest
}
