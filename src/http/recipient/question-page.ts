import { type Html, html } from '../../domain/html.js'
import { brandName, formFields, formTraps, type LinkView, type Page } from './layout.js'

interface QuestionView extends LinkView {
  lockedMs: number
  /** null: before the first reply. */
  attemptsLeft: number | null
}

export function questionPage(view: QuestionView): Page {
  const { visited, path, lockedMs } = view
  return {
    title: `${view.attemptsLeft === null ? '' : 'Resposta incorreta: '}pergunta de ${brandName(visited)}`,
    brand: visited,
    body: html`<section class="card">
<h1>Confirme que é você</h1>
${lockedMs > 0 ? locked(lockedMs) : question(view)}
</section>
<p class="away"><a href="${path}">Voltar</a></p>`,
  }
}

const question = ({
  visited,
  path,
  stamp,
  attemptsLeft,
}: QuestionView): Html => html`${attemptsLeft === null ? null : wrong(attemptsLeft)}
<p>${brandName(visited)} protegeu esta mensagem com uma pergunta que só você deve saber responder.</p>
<form method="post" action="${path}/pergunta">
${formFields(stamp)}
<label for="resposta">${visited.validation!.question}</label>
<input type="text" id="resposta" name="resposta" required maxlength="500" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="como">
<p class="hint" id="como">Acentos, maiúsculas, espaços e pontuação não fazem diferença.</p>
<button>Responder e ler</button>
${formTraps}
</form>`

const wrong = (left: number): Html =>
  html`<div class="notice" role="alert"><strong>A resposta não confere.</strong> ${
    left === 1 ? 'Resta 1 tentativa.' : `Restam ${left} tentativas.`
  }</div>`

const locked = (
  lockedMs: number,
): Html => html`<div class="notice" role="alert"><strong>Respostas bloqueadas por ${duration(lockedMs)}.</strong> Houve
respostas erradas demais. Espere e tente de novo; se você não sabe a resposta, fale com quem enviou a notificação.</div>`

export function duration(ms: number): string {
  const minutes = Math.max(1, Math.ceil(ms / 60_000))
  if (minutes < 60) return minutes === 1 ? '1 minuto' : `${minutes} minutos`
  const hours = Math.ceil(minutes / 60)
  return hours === 1 ? '1 hora' : `${hours} horas`
}
