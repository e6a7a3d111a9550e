import { expect, test } from 'vitest'
import { html } from '../../../src/domain/text/html.js'

test('values are text, HTML stays HTML, lists are joined, and what is absent leaves nothing', () => {
  const evil = `<a href="x" title='y'>&`
  expect(html`<p>${evil}</p>`.text).toBe('<p>&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;</p>')
  expect(html`<ul>${[html`<li>${1}</li>`, '<li>', null, false]}</ul>`.text).toBe('<ul><li>1</li>&lt;li&gt;</ul>')
})
