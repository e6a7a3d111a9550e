import { moduleOf } from '../../channels/registry.js'
import { brazilianDate } from '../../domain/dates.js'
import { type Html, html } from '../../domain/html.js'
import type { VisitedDelivery } from '../../store/recipient/visits.js'
import { brandName, CHECK, formFields, formTraps, type LinkView, type Page } from './layout.js'

/** `host`: the host that the address bar must show. */
export function landingPage({ visited, path, stamp, host }: LinkView & { host: string }): Page {
  const sender = brandName(visited)
  return {
    title: `Notificação de ${sender}`,
    brand: visited,
    body: html`<section class="card">
<p class="eyebrow">Assunto</p>
<h1>${visited.subject}</h1>
<dl>
<dt>De</dt><dd>${sender}</dd>
<dt>Para</dt><dd>${shortName(visited.recipientName)}</dd>
<dt>Enviada</dt><dd>${brazilianDate(visited.acceptedAt).slice(0, 16)}</dd>
${way(visited)}
</dl>
<form method="post" action="${path}">
${formFields(stamp)}
<button>Abrir a notificação</button>
${formTraps}
</form>
${visited.validation === null ? null : html`<p class="hint">O conteúdo é protegido: antes de ler, você responde a uma pergunta.</p>`}
</section>
<section class="card">
<h2>Como saber se é verdadeira</h2>
<ul class="checks">
<li>${CHECK}<span>O endereço no alto do navegador é <b>${host}</b>.</span></li>
<li>${CHECK}<span>Ninguém pede senha, código ou pagamento para você ler.</span></li>
<li>${CHECK}<span>Na dúvida, não abra: fale com ${sender} por um contato que você já conhece e informe o número <span class="code">${visited.target.notification}</span>.</span></li>
</ul>
</section>
<p class="away"><a href="${path}/nao-sou-eu">Não sou esta pessoa</a></p>`,
  }
}

/** The first name and an initial, so that a person who got the link by mistake does not learn the recipient's identity. */
export function shortName(name: string): string {
  const [first, ...others] = name.trim().split(/\s+/)
  const last = others.at(-1)
  return last === undefined ? first! : `${first} ${[...last][0]!.toUpperCase()}.`
}

const way = ({ target, recipient }: VisitedDelivery): Html | null => {
  if (recipient === null || moduleOf(target.channel).recipientIsName === true) return null
  return html`<dt>Canal</dt><dd>${moduleOf(target.channel).label}: ${masked(recipient)}</dd>`
}

/** maria@example.com → ma***@example.com; +5511987654321 → final 4321 */
function masked(recipient: string): string {
  const at = recipient.lastIndexOf('@')
  return at === -1 ? `final ${recipient.slice(-4)}` : `${recipient.slice(0, Math.min(2, at - 1))}***${recipient.slice(at)}`
}
