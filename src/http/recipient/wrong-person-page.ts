import { html } from '../../domain/html.js'
import { shortName } from './landing-page.js'
import { brandName, formFields, formTraps, type LinkView, type Page } from './layout.js'

/** "Não sou esta pessoa". The page asks before it reports, because the report cannot be undone here. */
export function wrongPersonPage({ visited, path, stamp, again }: LinkView & { again: boolean }): Page {
  const sender = brandName(visited)
  return {
    title: `Não sou esta pessoa: notificação de ${sender}`,
    brand: visited,
    body: html`<section class="card">
<h1>Você não é ${shortName(visited.recipientName)}?</h1>
${again ? html`<div class="notice" role="alert"><strong>Ainda não foi registrado.</strong> Para termos certeza de que foi você, e não um programa, pressione o botão mais uma vez.</div>` : null}
<p>Se esta notificação chegou a você por engano, avise ${sender}. Depois disso:</p>
<ul>
<li>${sender} não envia mais nada a este contato por este canal;</li>
<li>este link deixa de abrir.</li>
</ul>
<div class="row">
<form method="post" action="${path}/nao-sou-eu">
${formFields(stamp)}
<button>Avisar que não sou eu</button>
${formTraps}
</form>
<a class="button quiet" href="${path}">Voltar: sou eu</a>
</div>
</section>`,
  }
}
