import { hideLinksIn } from './link.js'

/** What others than the recipient may see of a recipient. */

/** The first name and an initial, so that a person who got the link by mistake does not learn the recipient's identity. */
export function shortName(name: string): string {
  const [first, ...others] = name.trim().split(/\s+/)
  const last = others.at(-1)
  return last === undefined ? first! : `${first} ${[...last][0]!.toUpperCase()}.`
}

/** maria@example.com → ma***@example.com; +5511987654321 → final 4321 */
export function maskAddress(recipient: string): string {
  const at = recipient.lastIndexOf('@')
  return at === -1 ? `final ${recipient.slice(-4)}` : `${recipient.slice(0, Math.min(2, at - 1))}***${recipient.slice(at)}`
}

/** A text for the log: addresses, numbers of five digits and more, quotations and recipients' links are left out. */
export const hidePersonal = (text: string): string =>
  hideLinksIn(text)
    .replace(/[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g, '…@…')
    .replace(/"[^"]*"|“[^”]*”|«[^»]*»/g, '"…"')
    .replace(/\+?\d(?:[\s().-]*\d){4,}/g, '…')
