/** The computations that Node and browsers offer in different ways. null: this environment does not have it. */
export interface VerifierTools {
  sha256(bytes: Uint8Array): Promise<Uint8Array>
  verifyEd25519: ((key: Uint8Array, message: Uint8Array, signature: Uint8Array) => Promise<boolean>) | null
  /** The signature of an RFC 3161 token over a digest. */
  verifyTimeStamp: ((token: Uint8Array, digest: Uint8Array) => Promise<CheckedTimeStamp>) | null
  /** The signatures of a PDF, which must be of one of these certificates (PEM; null: of any). */
  verifyDocument: ((pdf: Uint8Array, certificates: readonly string[] | null) => Promise<CheckedDocument>) | null
}

interface CheckedTimeStamp {
  /** Why it does not hold; null: it holds. */
  problem: string | null
  authority: string | null
}

export interface CheckedDocument {
  problem: string | null
  /** What was found, in one sentence. */
  found: string
}
