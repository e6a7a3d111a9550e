export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** Beyond so many lines on each side the table of the comparison takes too long; such texts are shown as replaced. */
const MAX_LINES = 1_500

/** The lines of two texts, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  if (old.length > MAX_LINES || now.length > MAX_LINES) return [...mark('removed', old), ...mark('added', now)]
  const width = now.length + 1
  const lengths = new Uint16Array((old.length + 1) * width)
  for (let row = old.length - 1; row >= 0; row--)
    for (let column = now.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        old[row] === now[column]
          ? lengths[(row + 1) * width + column + 1]! + 1
          : Math.max(lengths[(row + 1) * width + column]!, lengths[row * width + column + 1]!)
  const lines: DiffLine[] = []
  let [row, column] = [0, 0]
  while (row < old.length && column < now.length) {
    if (old[row] === now[column]) {
      lines.push({ kind: 'same', text: old[row]! })
      row++
      column++
    } else if (lengths[(row + 1) * width + column]! >= lengths[row * width + column + 1]!) {
      lines.push({ kind: 'removed', text: old[row++]! })
    } else lines.push({ kind: 'added', text: now[column++]! })
  }
  return [...lines, ...mark('removed', old.slice(row)), ...mark('added', now.slice(column))]
}

const mark = (kind: DiffLine['kind'], lines: readonly string[]): DiffLine[] => lines.map(text => ({ kind, text }))
