/** What a document tells the carrier to do, read as far as the simulator does it. */
export type Verb =
  | { verb: 'say'; text: string }
  | { verb: 'gather'; action: string; says: string[] }
  | { verb: 'redirect'; url: string }
  | { verb: 'hangup' }

const MAX_DOCUMENT = 65_536
const TOKEN = /<(\/?)([A-Za-z]+)((?:\s[^<>]*?)?)(\/?)>|([^<]+)/g

/** Null: this is no document of the carrier's language. */
export function readTwiml(xml: string): Verb[] | null {
  if (xml.length > MAX_DOCUMENT || !/<Response\b/.test(xml)) return null
  const verbs: Verb[] = []
  let gather: Extract<Verb, { verb: 'gather' }> | null = null
  let saying: string | null = null
  let leading: string | null = null
  for (const [, closing, name, attributes = '', empty, text] of xml.replace(/^<\?xml[^>]*\?>/, '').matchAll(TOKEN)) {
    if (text !== undefined) {
      if (saying !== null) saying += unescapeXml(text)
      if (leading !== null) leading += unescapeXml(text)
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
    if (name === 'Redirect' && !isEnd) leading = ''
    if (name === 'Redirect' && closing === '/' && leading !== null) {
      verbs.push({ verb: 'redirect', url: leading.trim() })
      leading = null
    }
    if (name === 'Hangup' && isEnd) verbs.push({ verb: 'hangup' })
  }
  return verbs
}

const attribute = (attributes: string, name: string): string =>
  unescapeXml(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '')

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const unescapeXml = (text: string): string => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!)
