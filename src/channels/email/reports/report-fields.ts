/** A machine-readable report consists of groups of header fields with an empty line between the groups. */
export type Fields = Map<string, string>

const MAX_GROUPS = 60

/** The names are in lower case. The first of two equal fields counts. */
export function readFields(text: string): Fields[] {
  const groups: Fields[] = [new Map()]
  let last: string | null = null
  for (const line of text.split(/\r\n|\r|\n/)) {
    const group = groups.at(-1)!
    if (line.trim() === '') {
      last = null
      if (group.size > 0) groups.push(new Map())
      if (groups.length > MAX_GROUPS) break
      continue
    }
    if (/^[ \t]/.test(line) && last !== null) {
      group.set(last, `${group.get(last)} ${line.trim()}`)
      continue
    }
    const colon = line.indexOf(':')
    if (colon < 1) continue
    const name = line.slice(0, colon).trim().toLowerCase()
    // Some servers omit the empty line between recipients; this field starts the next recipient.
    const target = name === 'final-recipient' && group.has('final-recipient') ? new Map<string, string>() : group
    if (target !== group) groups.push(target)
    last = target.has(name) ? null : name
    const value = line.slice(colon + 1).replace(/[\u0000-\u001f\u007f]/g, ' ')
    if (last !== null) target.set(name, value.trim())
  }
  return groups.filter(group => group.size > 0)
}
