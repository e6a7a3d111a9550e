import { brazilianDate } from '../../src/domain/text/dates.js'
import { type Html, html } from '../../src/domain/text/html.js'
import type { StoredMessage } from '../inbox.js'
import { formatPostcode } from './fates.js'
import type { Letter, Place, TrackingEntry } from './letter.js'

export function renderLetter(
  { message }: StoredMessage<Letter>,
  known: readonly TrackingEntry[],
): { content: Html; aside: Html } {
  const { id, order } = message
  const source = `/simulator/messages/${id}/carta.pdf`
  return {
    content: html`<section aria-label="Carta">
<iframe class="sheet" title="A carta impressa" src="${source}"></iframe>
<p><a href="${source}" download="carta-${id}.pdf">Baixar o PDF</a> · ${order.pages} ${order.pages === 1 ? 'página' : 'páginas'}, modelo ${order.layout}</p>
</section>`,
    aside: html`<section aria-labelledby="rastreio"><h2 id="rastreio">Rastreamento</h2>
${tracking(message, known)}
</section>
<details><summary>Envelope</summary>
<dl class="facts">
<div><dt>Destinatário</dt><dd>${place(order.recipient)}</dd></div>
<div><dt>Remetente</dt><dd>${place(order.sender)}</dd></div>
<div><dt>Referência</dt><dd>${order.reference}</dd></div>
</dl></details>`,
  }
}

function tracking({ code, order }: Letter, known: readonly TrackingEntry[]): Html {
  if (order.layout !== 'registrada') return html`<p class="note">Carta simples: os Correios não a rastreiam.</p>`
  if (code === null) return html`<p class="note">Ainda não foi postada.</p>`
  return html`<p><code>${code}</code></p>
<ol class="reports">${known.map(
    ({ at, text, code: letters, type }) => html`<li class="${toneOf(letters, type)}">
<strong>${text}</strong> <time datetime="${at.toISOString()}">${brazilianDate(at)}</time> <span>${letters}/${type}</span></li>`,
  )}</ol>`
}

const toneOf = (code: string, type: string): string =>
  code !== 'BDE' ? 'plain' : type === '01' ? 'good' : type === '20' ? 'warn' : 'bad'

function place({ name, street, number, complement, district, city, state, postcode }: Place): string {
  const address = [name, street, number, complement, district, city, state].filter(part => part !== '').join(', ')
  return postcode === '' ? address : `${address}, ${formatPostcode(postcode)}`
}
