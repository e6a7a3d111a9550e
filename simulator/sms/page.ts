import { brazilianDate } from '../../src/domain/text/dates.js'
import { type Html, html } from '../../src/domain/text/html.js'
import type { StoredMessage } from '../inbox.js'
import { linkIn, type Sms } from './sms.js'

export async function renderSms({ message }: StoredMessage<Sms>): Promise<{ content: Html; aside: Html }> {
  const link = linkIn(message)
  return {
    content: html`<section class="phone" aria-label="Celular de ${message.to}">
<p class="phone-name">${message.from === '' ? 'Remetente da operadora' : message.from}</p>
<div class="bubble">${message.text.split('\n').map((line, index) => html`${index > 0 && html`<br>`}${line}`)}</div>
<p class="phone-time"><time datetime="${message.receivedAt.toISOString()}">${brazilianDate(message.receivedAt)}</time></p>
</section>
${link !== null && html`<p><a href="${link}" target="_blank" rel="noopener noreferrer">Abrir o link em outra aba</a></p>`}`,
    aside: facts(message),
  }
}

const facts = ({ via, encoding, parts, text }: Sms): Html => html`<details open><summary>Como viajou</summary>
<dl class="facts">
<div><dt>Protocolo</dt><dd>${via === 'smpp' ? 'SMPP 3.4' : 'API da Zenvia'}</dd></div>
<div><dt>Caracteres</dt><dd>${[...text].length}</dd></div>
<div><dt>Alfabeto</dt><dd>${encoding === 'gsm7' ? 'GSM-7 (160 por mensagem, 153 por parte)' : 'UCS-2 (70 por mensagem, 67 por parte)'}</dd></div>
<div><dt>Partes</dt><dd>${parts.length}</dd></div>
<div><dt>Identificadores</dt><dd>${parts.map(({ id }) => html`<code>${id}</code> `)}</dd></div>
</dl></details>`
