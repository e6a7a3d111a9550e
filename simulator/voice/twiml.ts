import { Parser } from 'htmlparser2'

/** The TwiML verbs that the simulator supports. */
export type Verb =
  | { verb: 'say'; text: string }
  | { verb: 'gather'; action: string; says: string[] }
  | { verb: 'redirect'; url: string }
  | { verb: 'hangup' }

const MAX_DOCUMENT = 65_536

/** Null when the text is not TwiML. */
export function readTwiml(xml: string): Verb[] | null {
  if (xml.length > MAX_DOCUMENT || !/<Response\b/.test(xml)) return null
  const verbs: Verb[] = []
  const gathers: Extract<Verb, { verb: 'gather' }>[] = []
  let text = ''
  const parser = new Parser(
    {
      onopentag(name, { action = '' }) {
        if (name === 'Say' || name === 'Redirect') text = ''
        if (name === 'Gather') gathers.push({ verb: 'gather', action, says: [] })
      },
      ontext(part) {
        text += part
      },
      onclosetag(name) {
        if (name === 'Say' && gathers.length > 0) gathers.at(-1)!.says.push(text)
        else if (name === 'Say') verbs.push({ verb: 'say', text })
        else if (name === 'Gather') verbs.push(gathers.pop()!)
        else if (name === 'Redirect') verbs.push({ verb: 'redirect', url: text.trim() })
        else if (name === 'Hangup') verbs.push({ verb: 'hangup' })
      },
    },
    { xmlMode: true },
  )
  parser.end(xml)
  return verbs
}
