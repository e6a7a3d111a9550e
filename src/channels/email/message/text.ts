import { compile } from 'html-to-text'

/** The plain text of an HTML content, for readers that show no HTML. */

/** Content beyond this (half a second of work) is left out of the plain version; the HTML is always whole. */
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

export const textFromHtml = (html: string): string => convert(html.slice(0, MAX_HTML)).trim()
