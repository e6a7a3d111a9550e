/** Groups of fields, one below the other, with an empty line between the groups: the form of every report for machines. */
export type Fields = Map<string, string>

const MAX_GROUPS = 60

/** Names in lower case; of a field that is there twice, the first. */
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
    // A server that forgets the empty line between recipients starts the next one with this field.
    const target = name === 'final-recipient' && group.has('final-recipient') ? new Map<string, string>() : group
    if (target !== group) groups.push(target)
    last = target.has(name) ? null : name
    if (last !== null)
      target.set(
        name,
        line
          .slice(colon + 1)
          .replace(/[\u0000-\u001f\u007f]/g, ' ')
          .trim(),
      )
  }
  return groups.filter(group => group.size > 0)
}
