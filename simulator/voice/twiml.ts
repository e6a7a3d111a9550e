/** The TwiML verbs that the simulator supports. */
export type Verb =
  | { verb: 'say'; text: string }
  | { verb: 'gather'; action: string; says: string[] }
  | { verb: 'redirect'; url: string }
  | { verb: 'hangup' }

const MAX_DOCUMENT = 65_536
const TOKEN = /<(\/?)([A-Za-z]+)((?:\s[^<>]*?)?)(\/?)>|([^<]+)/g

/** Null when the text is not TwiML. */
export function readTwiml(xml: string): Verb[] | null {
  if (xml.length > MAX_DOCUMENT || !/<Response\b/.test(xml)) return null
  const verbs: Verb[] = []
  let gather: Extract<Verb, { verb: 'gather' }> | null = null
  let saying: string | null = null
  let redirect: string | null = null
  for (const [, closing, name, attributes = '', empty, text] of xml.replace(/^<\?xml[^>]*\?>/, '').matchAll(TOKEN)) {
    if (text !== undefined) {
      if (saying !== null) saying += unescapeXml(text)
      if (redirect !== null) redirect += unescapeXml(text)
      continue
    }
    const isEnd = closing === '/' || empty === '/'
    if (name === 'Say' && !isEnd) saying = ''
    if (name === 'Say' && closing === '/' && saying !== null) {
      if (gather === null) verbs.push({ verb: 'say', text: saying })
      else gather.says.push(saying)
      saying = null
    }
    if (name === 'Gather' && closing !== '/') gather = { verb: 'gather', action: attribute(attributes, 'action'), says: [] }
    if (name === 'Gather' && isEnd && gather !== null) {
      verbs.push(gather)
      gather = null
    }
    if (name === 'Redirect' && !isEnd) redirect = ''
    if (name === 'Redirect' && closing === '/' && redirect !== null) {
      verbs.push({ verb: 'redirect', url: redirect.trim() })
      redirect = null
    }
    if (name === 'Hangup' && isEnd) verbs.push({ verb: 'hangup' })
  }
  return verbs
}

const attribute = (attributes: string, name: string): string =>
  unescapeXml(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '')

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescapeXml = (text: string): string => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!)
