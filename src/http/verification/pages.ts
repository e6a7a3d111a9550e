import type { FastifyInstance, FastifyReply } from 'fastify'
import type { AddressRange } from '../../domain/access/address-range.js'
import { brazilianDate } from '../../domain/text/dates.js'
import { type Html, html } from '../../domain/text/html.js'
import type { Locked } from '../../engine/recipient/guess-guard.js'
import type { ArchivedRecord, PublicRecord } from '../../evidence/public-record.js'
import { addressOf } from '../auth.js'
import type { ReadBody } from '../body.js'
import { field } from '../recipient/arrival.js'
import { brandName, duration, GATEWAY_FOOTER, type Page, senderRows, sendPage, term } from '../recipient/layout.js'
import { seconds } from '../recipient/page-handlers.js'
import { servePeople } from '../recipient/pages.js'
import { addBrowserModules } from './modules.js'

export interface VerificationOptions {
  /** null: no notification has the code. */
  findRecord(code: string, address: string): Promise<PublicRecord | ArchivedRecord | null | Locked>
  /** Reads the public key of the log, and its newest checkpoint, if there is one yet. */
  readLog(): Promise<{ vkey: string; checkpoint: { size: number; root: string; at: Date } | null }>
  trustedProxies: readonly AddressRange[]
}

/** /verificar: whether a document or a bundle is genuine, for anyone. */
export function addVerification(app: FastifyInstance, options: VerificationOptions, readBody: ReadBody): void {
  const script = addBrowserModules(app)
  const hidden = { schema: { hide: true } }
  app.register(async scope => {
    servePeople(scope, readBody)
    const showStart = async (reply: FastifyReply, status: number, problem: string | null) =>
      sendPage(reply, status, startPage((await options.readLog()).vkey, script, problem))
    scope.get('/verificar', hidden, (_, reply) => showStart(reply, 200, null))
    // Posted, because the address of a query would put the code into the logs of proxies.
    scope.post('/verificar', hidden, async (request, reply) => {
      const code = (field(request, 'codigo') ?? '').slice(0, 64).replaceAll(/[^0-9A-Za-z-]/g, '')
      return code === ''
        ? showStart(reply, 400, 'Digite o código que está no documento.')
        : reply.redirect(`/verificar/${code}`, 303)
    })
    scope.get<{ Params: { code: string } }>('/verificar/:code', hidden, async (request, reply) => {
      const found = await options.findRecord(request.params.code, addressOf(request, options.trustedProxies))
      if (found === null) return showStart(reply, 404, 'Nenhuma notificação tem este código. Confira cada letra e cada número.')
      if ('lockedMs' in found)
        return sendPage(reply.header('retry-after', seconds(found.lockedMs)), 429, lockedPage(found.lockedMs))
      const log = await options.readLog()
      return sendPage(reply, 200, 'archive' in found ? archivedPage(found, log) : recordPage(found, log))
    })
  })
}

const startPage = (vkey: string, script: string, problem: string | null): Page => ({
  title: `${problem === null ? 'Verificar' : 'Código não encontrado: verificar'} uma notificação`,
  brand: null,
  footer: GATEWAY_FOOTER,
  script,
  body: html`<section class="card">
<h1>Verificar uma notificação</h1>
${problem !== null && html`<div class="notice" role="alert">${problem}</div>`}
<form method="post" action="/verificar">
<label for="codigo">Código do documento</label>
<input type="text" id="codigo" name="codigo" required maxlength="40" autocomplete="off" autocapitalize="characters" spellcheck="false" aria-describedby="dica">
<p class="hint" id="dica">São dezesseis letras e números, ao lado do QR code. Maiúsculas, espaços e hifens não fazem diferença.</p>
<button>Verificar o código</button>
</form>
</section>
<section class="card">
<h2>Conferir um pacote de evidências</h2>
<p>O arquivo .zip é conferido aqui mesmo, no seu navegador: nada é enviado.</p>
<div class="drop" id="soltar" data-key="${vkey}" hidden>
<label for="arquivo">Escolha o arquivo, ou solte-o aqui</label>
<input type="file" id="arquivo" accept=".zip,application/zip">
</div>
<p id="sem-script">Para conferir o arquivo aqui, permita scripts neste site. Sem eles, use o comando <span class="code">carteiro verify</span>.</p>
<div id="resultado" aria-live="polite" hidden></div>
</section>
<section class="card">
<h2>A chave deste registro</h2>
<p>Com ela se conferem as assinaturas sem depender deste site. Guarde-a ou compare-a com a de um pacote.</p>
<p class="code">${vkey}</p>
</section>`,
})

const lockedPage = (lockedMs: number): Page => ({
  title: 'Muitas tentativas',
  brand: null,
  footer: GATEWAY_FOOTER,
  body: html`<section class="card"><h1>Muitas tentativas</h1>
<p>Houve códigos errados demais a partir desta rede. Espere ${duration(lockedMs)} e digite de novo o código do documento.</p>
</section>`,
})

type Log = Awaited<ReturnType<VerificationOptions['readLog']>>

const recordPage = (record: PublicRecord, log: Log): Page => ({
  title: `Notificação verificada, de ${brandName({ ...record.sender, logo: null })}`,
  brand: null,
  footer: GATEWAY_FOOTER,
  body: html`<section class="card">
${record.channels.some(({ isSimulated }) => isSimulated) && html`<div class="notice" role="note"><strong>SIMULADO</strong> Ao menos um canal foi entregue por um simulador, e não a uma pessoa.</div>`}
<h1>Esta notificação existe</h1>
<dl>
${senderRows('Remetente', { ...record.sender, logo: null })}
<dt>Aceita em</dt><dd>${brazilianDate(record.acceptedAt)}</dd>
<dt>Número</dt><dd class="code">${record.notification}</dd>
</dl>
<p class="hint">Confira se o documento que você tem diz o mesmo. Por aqui não se lê a mensagem, e ninguém age no lugar do destinatário.</p>
</section>
<section class="card">
<h2>Canais</h2>
<ul class="files">${record.channels.map(channelItem)}</ul>
</section>
${logSection(record.events, log)}
<p class="away"><a href="/verificar">Verificar outro documento ou um pacote</a></p>`,
})

/** The page of a notification from a month that is no longer in the database. */
const archivedPage = ({ notification, acceptedAt, archive, events }: ArchivedRecord, log: Log): Page => ({
  title: 'Notificação verificada, de um mês arquivado',
  brand: null,
  footer: GATEWAY_FOOTER,
  body: html`<section class="card">
<h1>Esta notificação existiu</h1>
<dl>
<dt>Aceita em</dt><dd>${brazilianDate(acceptedAt)}</dd>
<dt>Número</dt><dd class="code">${notification}</dd>
</dl>
<p>Os prazos de guarda dela terminaram, e os dados saíram do banco junto com o mês ${archive.month.split('-').reverse().join('/')}. Remetente, canais e situação já não se mostram aqui; os hashes dos eventos ficam no registro para sempre.</p>
<p class="hint">Compare os hashes abaixo com os do laudo ou do pacote que você tem.</p>
</section>
<section class="card">
<h2>Arquivo do mês</h2>
<p>Quem opera este serviço guarda o mês num arquivo, com a cadeia de eventos desta notificação. O arquivo verdadeiro tem este SHA-256:</p>
<p class="code">${archive.sha256}</p>
</section>
${logSection(events, log)}
<p class="away"><a href="/verificar">Verificar outro documento ou um pacote</a></p>`,
})

/** `at`: absent where the log alone is left of an event. */
const logSection = (events: readonly { seq: number; at?: string; hash: string }[], { vkey, checkpoint }: Log): Html =>
  html`<section class="card">
<h2>Registro</h2>
${
  checkpoint === null
    ? html`<p>Ainda não há ponto de controle assinado (checkpoint): o primeiro vem com os primeiros eventos.</p>`
    : html`<p>Um ponto de controle assinado (checkpoint) resume todos os eventos do registro até aquela hora: se um deles mudar, a raiz já não confere.</p>
<dl>
${term('Ponto de controle assinado')}<dd>${checkpoint.size} eventos, em ${brazilianDate(checkpoint.at)}</dd>
<dt>Raiz</dt><dd class="code">${checkpoint.root}</dd>
<dt>Chave</dt><dd class="code">${vkey}</dd>
</dl>`
}
<h2>Eventos desta notificação</h2>
<ol class="files">${events.map(({ seq, at, hash }) => html`<li>${seq}.${at !== undefined && html` ${brazilianDate(new Date(at))}`}<span class="code">${hash}</span></li>`)}</ol>
</section>`

const channelItem = ({ label, recipient, isSimulated, last, reason }: PublicRecord['channels'][number]): Html =>
  html`<li><strong>${label.charAt(0).toUpperCase() + label.slice(1)}</strong>${recipient !== null && html`, ${recipient}`}: ${last.label}, ${brazilianDate(last.at)}${isSimulated && html` <strong>(SIMULADO)</strong>`}${reason !== null && html`<span class="legal hint">${reason}</span>`}</li>`
