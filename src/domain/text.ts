/** Characters as people and the contract count them: Unicode code points. */
export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

export const hasControlCharacters = (text: string): boolean => /[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text)

export const mebibytes = (bytes: number): string => `${Math.floor((bytes / 1_048_576) * 10) / 10} MiB`.replace('.', ',')
