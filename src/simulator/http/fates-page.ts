import { DOMAINS } from '../email/domains.js'
import { FATE_DOMAIN, FATES, fateAddress } from '../email/fates.js'
import { type Html, html } from './html.js'

export const fatesPage = (): Html => html`<h1>Destinatários de teste</h1>
<p class="lead">Estes endereços têm sempre o mesmo destino. Um sufixo com <code>+</code> não muda o destino e distingue um teste do
outro: <code>lido+pedido-7@${FATE_DOMAIN}</code> age como <code>lido@${FATE_DOMAIN}</code>. Qualquer outro endereço recebe a
mensagem normalmente.</p>
<ul class="fates">${FATES.map(
  fate => html`<li><code>${fateAddress(fate)}</code><strong>${fate.meaning}</strong><span>${fate.does}</span></li>`,
)}</ul>
<h2>Domínios de teste</h2>
<p class="lead">Para a validação feita antes do envio. Todo outro domínio existe e recebe e-mail.</p>
<ul class="fates">${DOMAINS.map(({ name, meaning }) => html`<li><code>${name}</code><span>${meaning}</span></li>`)}</ul>`
