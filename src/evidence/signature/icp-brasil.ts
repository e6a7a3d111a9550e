import type { X509Certificate } from 'node:crypto'
import { EXTENSION, listedIn } from './certificate-facts.js'

/** The policies of certificates of ICP-Brasil (DOC-ICP-04): A1, A2, A3, A4 and their kin. */
const POLICIES = '2.16.76.1.2.'
/** The organisation of every authority of ICP-Brasil, its root included. */
const ORGANISATION = 'ICP-Brasil'

/**
 * Whether a chain, the leaf first, declares to be of ICP-Brasil; whether a root of it issued the chain is not checked here: the leaf has one of its policies, and every authority above it that is
 * known, as well as the one that issued the leaf, is of that organisation. A certificate issued by itself never is.
 */
export function isIcpBrasil([leaf, ...issuers]: readonly X509Certificate[]): boolean {
  if (leaf === undefined || leaf.subject === leaf.issuer) return false
  const isPolicy = listedIn(leaf, EXTENSION.policies).some(policy => policy.startsWith(POLICIES))
  return (
    isPolicy &&
    [leaf.issuer, ...issuers.map(({ subject }) => subject)].every(name => name?.split('\n').includes(`O=${ORGANISATION}`))
  )
}
