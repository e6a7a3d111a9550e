/** Why a signature, a time-stamp or a file does not hold, in Portuguese: the text is a verdict, not a bug. */
export class SignatureFault extends Error {
  override readonly name = 'SignatureFault'
}

/** The text of a verdict for anything thrown while material from elsewhere was read. */
export const faultText = (error: unknown, otherwise: string): string =>
  error instanceof SignatureFault ? error.message : otherwise
