import type { Person } from '../store/person/find.js'
import { loadContracts } from './registry.js'

/** The forms in which the data may know a person by one value: an e-mail address, a number, a name, a document or the sender's own code. */
export async function readPerson(text: string, account: string | null): Promise<Person> {
  const given = text.trim()
  return { contacts: await readContacts(given), names: [...new Set([given, ...documentForms(given)])], account }
}

/** The contact as each channel stores it, in lower case: a number to one channel may be a name to another. */
export async function readContacts(text: string): Promise<string[]> {
  const given = text.trim()
  const contracts = [...(await loadContracts()).values()]
  // People write numbers with a mask, which senders may not.
  const bare = given.replace(/[\s().-]/g, '')
  const written = /^\+?\d+$/.test(bare) ? [given, bare] : [given]
  const contacts = new Set(
    written.flatMap(text => contracts.flatMap(({ readContact }) => readContact(text)?.toLowerCase() ?? [])),
  )
  return [...contacts]
}

/** A CPF or CNPJ without its points, and with them. */
function documentForms(text: string): string[] {
  const digits = text.replace(/[.\-/\s]/g, '')
  if (/^\d{11}$/.test(digits)) return [digits, digits.replace(/^(\d{3})(\d{3})(\d{3})(\d{2})$/, '$1.$2.$3-$4')]
  if (/^\d{14}$/.test(digits)) return [digits, digits.replace(/^(\d{2})(\d{3})(\d{3})(\d{4})(\d{2})$/, '$1.$2.$3/$4-$5')]
  return []
}
