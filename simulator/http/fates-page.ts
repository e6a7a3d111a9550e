import { type Html, html } from '../../src/domain/html.js'
import type { Desk } from '../desk.js'

export const fatesPage = (desks: readonly Desk[]): Html => html`<h1>Destinatários de teste</h1>
${desks.map(
  ({ channel, name, fates }) => html`<h2 id="${channel}">${name}</h2>
<p class="lead">${fates.lead}</p>
<ul class="fates">${fates.list.map(
    fate => html`<li><code>${fate.address}</code><strong>${fate.meaning}</strong><span>${fate.does}</span></li>`,
  )}</ul>
${fates.more}`,
)}`
