import { type Html, html } from '../../src/domain/text/html.js'

/** The member of the form that says that a person has read the question. */
export const CONFIRMATION = 'confirmado'

/** Asks before the messages are deleted, without a script. */
export const emptyPage = (count: number): Html =>
  count === 0
    ? html`<h1>Esvaziar</h1><p class="lead">A caixa já está vazia.</p><p><a href="/">Ver as mensagens</a></p>`
    : html`<h1>Esvaziar a caixa?</h1>
<p class="lead">${count === 1 ? 'A única mensagem será apagada' : `As ${count} mensagens, de todos os canais e notificações, serão apagadas`}, e não há
como voltar atrás. As notificações no gateway, a situação delas e os registros não mudam.</p>
<form class="buttons" method="post" action="/esvaziar">
<button class="danger" type="submit" name="${CONFIRMATION}" value="sim">${count === 1 ? 'Apagar a mensagem' : `Apagar as ${count} mensagens`}</button>
<a class="button" href="/">Cancelar</a>
</form>`
