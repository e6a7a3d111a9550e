/**
 * Words that tell a third person of a debt or a dispute. A text on a locked screen, or on an answering machine, is read by whoever is near:
 * before the recipient has been identified it should say no more than that there is a message.
 */
const stems: readonly [shown: string, pattern: RegExp][] = [
  ['dívida', /\bdivida(s)?\b/],
  ['débito', /\bdebitos?\b/],
  ['cobrança', /\bcobranc(a|as)\b/],
  ['cobrar', /\bcobra(r|mos|do|da)\b/],
  ['devedor', /\bdevedor(a|es|as)?\b/],
  ['inadimplência', /\binadimpl\w+/],
  ['atraso', /\b(em atraso|atrasad[oa]s?)\b/],
  ['vencida', /\b(fatura|parcela|conta|boleto)s? vencid[oa]s?\b/],
  ['negativação', /\bnegativ(ac\w+|ad[oa]s?|ar)\b/],
  ['protesto', /\bprotest(o|os|ad[oa]s?|ar)\b/],
  ['SPC', /\bspc\b/],
  ['Serasa', /\bserasa\b/],
  ['processo', /\bprocessos?( judicia(l|is))?\b/],
  ['execução', /\bexecuc(ao|oes)\b/],
  ['penhora', /\bpenhor(a|as|ad[oa]s?|ar)\b/],
  ['ação judicial', /\b(acao|acoes) judicia(l|is)\b/],
  ['busca e apreensão', /\bbusca e apreensao\b/],
  ['juros', /\bjuros\b/],
]

/** The words of a text that are not neutral, each once, as people write them. */
export function findExposingWords(text: string): string[] {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return stems.filter(([, pattern]) => pattern.test(plain)).map(([shown]) => shown)
}

/** What to tell whoever writes the text; none: it is neutral. `where`: where others can read or hear it, in Portuguese. */
export function neutralWordingWarnings(text: string, where: string | undefined): string[] {
  const words = where === undefined ? [] : findExposingWords(text)
  if (words.length === 0) return []
  const quoted = words.map(word => `“${word}”`).join(', ')
  return [
    `O texto tem ${quoted} e pode ser visto ou ouvido por outras pessoas ${where}. Antes de o destinatário se identificar, prefira um texto neutro (“há uma mensagem para você”) e deixe o assunto para a página da notificação: expor uma dívida a terceiros é vedado na cobrança (CDC, art. 42).`,
  ]
}
