/** Words with which people in Brazil end the messages of a sender; alone in the answer, or a sentence would do it too. */
const WORDS = new Set(['SAIR', 'PARAR', 'PARE', 'STOP', 'CANCELAR', 'CANCELA', 'REMOVER', 'DESCADASTRAR', 'UNSUBSCRIBE'])

/** Case, accents, blanks and punctuation around the word do not count. */
export function isOptOut(text: string): boolean {
  const word = text
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N} ]/gu, '')
    .trim()
    .toUpperCase()
  return WORDS.has(word)
}
