/** The first line of a quoted message in Gmail, Outlook, Apple Mail, Thunderbird and Yahoo. */
const BEGINNINGS = [
  /^(em|on|el|le|am)\b.{4,200}\b(escreveu|wrote|escribi[óo]|a écrit|schrieb)\s*:?$/i,
  /^-{2,}\s*(mensagem original|mensagem encaminhada|original message|forwarded message)\s*-{2,}$/i,
  /^_{20,}$/,
  /^\*?(de|from):\*?\s.{3,}$/i,
  /^-- $/,
]
/** A single "De:" line may be the person's own text. In a quoted header, one of these lines follows it. */
const HEADER_LINE = /^\*?(enviad[ao]( em)?|sent|data|date|para|to|assunto|subject|cc)\*?\s*:/i

/** The text of a reply without the quoted message that mail programs add below it. */
export function withoutQuotedText(text: string): string {
  const lines = text.split(/\r\n|\r|\n/).slice(0, 2_000)
  let end = lines.findIndex((_, index) => beginsCopy(lines, index))
  if (end === -1) end = lines.length
  while (end > 0 && /^\s*(>.*)?$/.test(lines[end - 1]!)) end--
  const own = lines.slice(0, end).filter(line => !line.startsWith('>'))
  return own.join('\n').trim().slice(0, 10_000).toWellFormed()
}

function beginsCopy(lines: readonly string[], index: number): boolean {
  const line = lines[index]!
  if (line.length > 300) return false
  const at = BEGINNINGS.findIndex(pattern => pattern.test(pattern.source === '^-- $' ? line : line.trim()))
  if (at === 3) return lines.slice(index + 1, index + 5).some(next => HEADER_LINE.test(next.trim()))
  if (at !== -1) return true
  // Gmail breaks "Em seg., 1 de jan. de 2026 às 10:00, Fulano <f@x> escreveu:" in two.
  const next = lines[index + 1]
  return (
    /^(em|on)\b/i.test(line) && next !== undefined && next.length < 200 && BEGINNINGS[0]!.test(`${line.trim()} ${next.trim()}`)
  )
}
