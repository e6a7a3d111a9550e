/** What makes a sender's HTML easier to read, wherever it is shown, without overriding anything that the sender says of its looks. */

const PADDING = '5'

export const hasLines = (given: ReadonlyMap<string, string>): boolean => (given.get('border')?.trim() ?? '0') !== '0'

/**
 * The attributes of a table that says nothing of its own: room in the cells, and single lines in place of double ones. Attributes,
 * because any style of the sender's overrides them, and Outlook knows them. A table without border, or with a role, carries a layout.
 */
export function tableDefaults(given: ReadonlyMap<string, string>): [name: string, value: string][] {
  const [lines, spacing] = [hasLines(given), given.get('cellspacing')?.trim()]
  if (given.has('role') || (given.has('border') && !lines)) return []
  const defaults: [string, string][] = []
  if (!given.has('cellpadding') && (lines || spacing === undefined)) defaults.push(['cellpadding', PADDING])
  if (lines && (spacing ?? '0') === '0' && !given.has('rules')) defaults.push(['rules', 'all'])
  return defaults
}

/** An amount stays on one line: "R$" alone at the end of a line says nothing. */
export const keepAmounts = (text: string): string => text.replace(/R\$ (?=\d)/g, 'R$\u00a0')
