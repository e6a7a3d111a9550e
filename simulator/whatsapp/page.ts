import { type Html, html } from '../../src/domain/text/html.js'
import type { StoredMessage } from '../inbox.js'
import type { Parameter, TemplateMessage } from './template-message.js'

/** Shows the message on a phone. Where the gateway has no template of this name, only the carrier knows the text around the parameters. */
export async function renderPhone(
  { message, raw }: StoredMessage<TemplateMessage>,
  link: string | null,
): Promise<{ content: Html; aside: Html }> {
  return {
    content: html`${message.text === null && unregistered(message)}
<section class="chat" aria-label="Mensagem no telefone">
<header class="chat-top"><span class="chat-face" aria-hidden="true"></span><div><strong>Remetente simulado</strong><span>${message.from}</span></div></header>
<div class="chat-talk"><div class="chat-bubble">
${message.header.length > 0 && html`<p class="chat-head">${message.header.map(({ text }) => text).join(' ')}</p>`}
${message.text === null ? values(message.body) : html`<p class="chat-text">${message.text}</p>`}
${link !== null && html`<p class="chat-link"><a href="${link}" target="_blank" rel="noopener noreferrer">Abrir a notificação</a></p>`}
<p class="chat-time"><time datetime="${message.receivedAt.toISOString()}">${time(message.receivedAt)}</time></p>
</div></div>
</section>
<section aria-labelledby="template"><h2 id="template">Template</h2>
<p class="chat-name">${message.template} <span>${message.language}</span></p>
${message.text !== null && values(message.body)}
${message.text !== null && html`<p class="note">O texto é o do template cadastrado no gateway, preenchido. A Meta mostra o que ela aprovou com este nome.</p>`}
</section>
<details><summary>Requisição</summary><pre class="source" tabindex="0" role="region" aria-label="Requisição">${pretty(raw)}</pre></details>`,
    aside: html`<details><summary>Nomes na operadora</summary><dl class="facts">
<div><dt>wamid</dt><dd>${message.wamid}</dd></div>
<div><dt>wa_id</dt><dd>${message.waId}</dd></div>
<div><dt>Referência</dt><dd>${message.reference ?? 'ausente'}</dd></div>
</dl></details>`,
  }
}

const unregistered = ({ template }: TemplateMessage): Html => html`<div class="warning" role="note">
<p><strong>Template não cadastrado.</strong> O gateway não conhece o texto de <code>${template}</code>: aqui só se vê o que preenche cada
variável. Se a Meta o aprovou com este nome, ele funciona assim mesmo.</p>
<p>Para ver o texto, cadastre-o: <code>carteiro template create --account CONTA --channel whatsapp --name ${template} --file ARQUIVO</code></p>
</div>`

const values = (body: readonly Parameter[]): Html | null =>
  body.length === 0
    ? null
    : html`<dl class="chat-values">${body.map(
        ({ name, text }, index) => html`<div><dt>${name ?? index + 1}</dt><dd>${text}</dd></div>`,
      )}</dl>`

const time = (at: Date): string =>
  at.toLocaleTimeString('pt-BR', { hour: '2-digit', minute: '2-digit', timeZone: 'America/Sao_Paulo' })

const pretty = (raw: Buffer): string => JSON.stringify(JSON.parse(raw.toString()), null, 2)
