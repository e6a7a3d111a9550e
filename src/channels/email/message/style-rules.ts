/** Around the sender's content: the rules of its style sheets reach no further. */
export const CONTENT_CLASS = 'nt-content'
/** Around each of the sender's tables that is not inside another. */
export const WIDE_CLASS = 'nt-wide'
/** Around each of these tables that has lines: columns of figures, which fit more often in smaller letters. */
export const LINES_CLASS = 'nt-lines'

/**
 * Keeps the rules of a sender's style sheet that cannot tell anybody anything. A rule that selects by an attribute can spell out
 * the recipient's link, letter by letter, with pictures that it loads or hides, so neither attributes nor addresses get through.
 * Every selector is confined to the sender's content: `a{display:none}` must not hide our link. Rules are written again from the
 * pieces that were understood: what is not understood is left out.
 */
export function keepSafeRules(css: string): string {
  const plain = css.replace(/\/\*[\s\S]*?(\*\/|$)/g, ' ')
  return readRules(plain, (head, body) => (MEDIA.test(head) ? block(head, readRules(body, readRule)) : readRule(head, body)))
}

const MEDIA = /^@media[\w\s:,.()-]{1,200}$/i
/** Elements, classes, ids, their relations and states. Nothing with brackets: they compare attributes. */
const SELECTOR = /^[\w\s.#>+~*:-]{1,500}$/
const PROPERTY = /^-?[a-z][a-z-]{0,60}$/i
/** `content` can show an attribute as text, and text can be measured. */
const UNSAFE_PROPERTY = /^(content|behavior|-moz-binding)$/i
const VALUE = /^[\w\s#%.,()+*/!'"-]{1,500}$/
const QUOTED = /"[^'"]*"|'[^'"]*'/g
/** Functions that compute a number, a colour or a shape. url(), image-set(), attr(), var() and whatever is invented later load or read. */
const FUNCTION = /\b(rgba?|hsla?|calc|min|max|clamp|(linear|radial)-gradient|translate[xy]?|scale[xy]?|rotate)\(/gi

/** Calls `read` with the head and the body of every block. Statements without a block, such as @import, are left out. */
function readRules(css: string, read: (head: string, body: string) => string): string {
  let kept = ''
  let start = 0
  let open = -1
  let depth = 0
  for (let at = 0; at < css.length; at++) {
    const character = css[at]
    if (character === '{' && depth++ === 0) open = at
    else if (character === '}' && depth > 0 && --depth === 0) {
      kept += read(css.slice(start, open).trim(), css.slice(open + 1, at))
      start = at + 1
    } else if (depth === 0 && (character === ';' || character === '}')) start = at + 1
  }
  return kept
}

function readRule(head: string, body: string): string {
  const selectors = head.split(',').flatMap(selector => (SELECTOR.test(selector) ? confined(selector.trim()) : []))
  const declarations = body.split(';').filter(isSafeDeclaration)
  return selectors.length === 0 ? '' : block(selectors.join(','), declarations.map(declaration => declaration.trim()).join(';'))
}

/** The selector for what is inside the content, where <body> is a <div>; none, if it selects nothing. */
function confined(selector: string): string[] {
  const inner = selector.replace(/^(html|:root)(?![\w-])\s*>?\s*/i, '')
  if (inner === '') return selector === '' ? [] : [`.${CONTENT_CLASS}`]
  // A selector that begins with a relation is no selector, but behind our class it would select what follows the content.
  if (/^[>+~]/.test(inner)) return []
  return /^body(?![\w-])/i.test(inner) ? [`.${CONTENT_CLASS}>div${inner.slice('body'.length)}`] : [`.${CONTENT_CLASS} ${inner}`]
}

function isSafeDeclaration(declaration: string): boolean {
  const colon = declaration.indexOf(':')
  const [property, value] = [declaration.slice(0, colon).trim(), declaration.slice(colon + 1)]
  if (colon < 1 || !PROPERTY.test(property) || UNSAFE_PROPERTY.test(property) || !VALUE.test(value)) return false
  const bare = value.replace(QUOTED, ' ')
  return !/['"]/.test(bare) && !/[\w-]\(/.test(bare.replace(FUNCTION, ' ('))
}

const block = (head: string, body: string): string => (body === '' ? '' : `${head}{${body}}`)
