import { compile } from 'html-to-text'

/** Longer HTML (over half a second of work) is cut in the plain text. The HTML part of the message is always complete. */
const MAX_HTML = 131_072

const convert = compile({
  wordwrap: false,
  limits: { maxDepth: 100 },
  selectors: [
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true, linkBrackets: [' (', ')'] } },
    { selector: 'img', format: 'skip' },
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map(selector => ({ selector, options: { uppercase: false } })),
    { selector: 'table', format: 'block' },
  ],
})

/** The plain text of an HTML content, for mail programs without HTML. */
export const textFromHtml = (html: string): string => convert(html.slice(0, MAX_HTML)).trim()
