import { execute, type Queryable, queryRow } from '../postgres.js'

/** The certificates that the installation made for its documents: the newest one signs. */
export interface DocumentCertificate {
  ordinal: number
  /** X.509 in DER. */
  certificate: Buffer
  /** PKCS#8 in DER, sealed with the certificate's digest as context. */
  privateKey: Buffer
}

export const findDocumentCertificate = (db: Queryable): Promise<DocumentCertificate | null> =>
  queryRow(db, `select ordinal, certificate, private_key as "privateKey" from document_certificate order by ordinal desc limit 1`)

/** Where several nodes insert the same ordinal at once, the first one wins; all of them read that one afterwards. */
export const insertDocumentCertificate = (
  db: Queryable,
  { ordinal, certificate, privateKey }: DocumentCertificate,
): Promise<void> =>
  execute(
    db,
    'insert into document_certificate (ordinal, certificate, private_key) values ($1, $2, $3) on conflict (ordinal) do nothing',
    [ordinal, certificate, privateKey],
  )
