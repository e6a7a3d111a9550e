import { type Html, html } from '../../src/domain/text/html.js'
import type { SimulatedChannel } from '../channel.js'

export const fatesPage = (channels: readonly SimulatedChannel[]): Html => html`<h1>Destinatários de teste</h1>
${channels.map(
  ({ channel, name, fates }) => html`<h2 id="${channel}">${name}</h2>
<p class="lead">${fates.lead}</p>
<ul class="fates">${fates.list.map(
    fate => html`<li><code>${fate.address}</code><strong>${fate.meaning}</strong><span>${fate.does}</span></li>`,
  )}</ul>
${fates.more}`,
)}`
