import { type Html, html } from '../../src/domain/html.js'
import type { StoredMessage } from '../inbox.js'
import type { Parameter, TemplateMessage } from './template-message.js'

/** Shows the parameters on a phone. The text around them is in the approved template, which only the carrier has. */
export async function renderPhone(
  { message, raw }: StoredMessage<TemplateMessage>,
  link: string | null,
): Promise<{ content: Html; aside: Html }> {
  return {
    content: html`<section class="chat" aria-label="Mensagem no telefone">
<header class="chat-top"><span class="chat-face" aria-hidden="true"></span><div><strong>Remetente simulado</strong><span>${message.from}</span></div></header>
<div class="chat-talk"><div class="chat-bubble">
${message.header.length > 0 && html`<p class="chat-head">${message.header.map(({ text }) => text).join(' ')}</p>`}
<p class="chat-name">${message.template} <span>${message.language}</span></p>
${values(message.body)}
${link !== null && html`<p class="chat-link"><a href="${link}" target="_blank" rel="noopener noreferrer">Abrir a notificação</a></p>`}
<p class="chat-time"><time datetime="${message.receivedAt.toISOString()}">${time(message.receivedAt)}</time></p>
</div></div>
</section>
<p class="note">O texto do template só a Meta conhece: aqui estão o nome dele e o que preenche cada variável.</p>
<details><summary>Requisição</summary><pre class="source" tabindex="0" role="region" aria-label="Requisição">${pretty(raw)}</pre></details>`,
    aside: html`<details><summary>Nomes na operadora</summary><dl class="facts">
<div><dt>wamid</dt><dd>${message.wamid}</dd></div>
<div><dt>wa_id</dt><dd>${message.waId}</dd></div>
<div><dt>Referência</dt><dd>${message.reference ?? 'ausente'}</dd></div>
</dl></details>`,
  }
}

const values = (body: readonly Parameter[]): Html | null =>
  body.length === 0
    ? null
    : html`<dl class="chat-values">${body.map(
        ({ name, text }, index) => html`<div><dt>${name ?? index + 1}</dt><dd>${text}</dd></div>`,
      )}</dl>`

const time = (at: Date): string =>
  at.toLocaleTimeString('pt-BR', { hour: '2-digit', minute: '2-digit', timeZone: 'America/Sao_Paulo' })

const pretty = (raw: Buffer): string => JSON.stringify(JSON.parse(raw.toString()), null, 2)
