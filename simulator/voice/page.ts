import { type Html, html } from '../../src/domain/text/html.js'
import type { StoredMessage } from '../inbox.js'
import { type Call, recordingSid, type Utterance } from './call.js'
import { REPORT_LABELS } from './labels.js'

export async function renderCall({ message, raw }: StoredMessage<Call>): Promise<{ content: Html; aside: Html }> {
  return {
    content: html`<section aria-labelledby="conversa"><h2 id="conversa">Conversa</h2>
${message.said.length === 0 ? html`<p class="note">Ninguém falou nada nesta ligação.</p>` : html`<ol class="talk">${message.said.map(line)}</ol>`}
</section>
${message.said.length > 0 && listen(message)}
<details><summary>Pedido recebido</summary><pre class="source" tabindex="0" role="region" aria-label="Pedido recebido">${request(raw)}</pre></details>`,
    aside: html`<details open><summary>Ligação</summary><dl class="facts">
<div><dt>Situação</dt><dd>${statusText(message)}</dd></div>
<div><dt>Atendida por</dt><dd>${ANSWERED[message.answeredBy ?? 'unknown']}</dd></div>
<div><dt>Duração</dt><dd>${message.durationSeconds === null ? 'em curso' : `${message.durationSeconds} s`}</dd></div>
<div><dt>CallSid</dt><dd><code>${message.sid}</code></dd></div>
<div><dt>RecordingSid</dt><dd>${message.recorded ? html`<code>${recordingSid(message)}</code>` : 'sem gravação'}</dd></div>
</dl></details>`,
  }
}

const ANSWERED: Record<NonNullable<Call['answeredBy']>, string> = {
  human: 'pessoa',
  machine_start: 'caixa postal',
  machine_end_beep: 'caixa postal',
  fax: 'fax',
  unknown: 'não se sabe',
}

const line = ({ who, text }: Utterance): Html =>
  html`<li class="${who}"><strong>${who === 'carrier' ? 'Gateway' : 'Telefone'}</strong><span>${text}</span></li>`

const listen = ({ id }: Call): Html => html`<section aria-labelledby="som"><h2 id="som">Ouvir</h2>
<audio controls preload="none" src="/simulator/messages/${id}/audio.wav">Seu navegador não toca áudio.</audio>
<p class="note"><a href="/simulator/messages/${id}/audio.wav" download="${id}.wav">Baixar o áudio (WAV)</a></p></section>`

const statusText = ({ status }: Call): string => (status === 'queued' ? 'Na fila' : REPORT_LABELS[status].text)

const request = (raw: Buffer): string =>
  [...new URLSearchParams(raw.toString())].map(([name, value]) => `${name}: ${value}`).join('\n')
