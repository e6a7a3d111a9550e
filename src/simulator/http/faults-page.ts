import { FAULT_FIELDS, type FaultField, type Faults, NO_FAULTS } from '../faults.js'
import { type Html, html } from './html.js'

export interface FaultsView {
  faults: Faults
  saved: boolean
  problem: string | null
}

/** Works without script: one form, one button. */
export const faultsPage = ({ faults, saved, problem }: FaultsView): Html => html`<h1>Falhas</h1>
<p class="lead">Ligue um problema e veja como o seu sistema reage. Vale para as próximas mensagens, até ser desligado ou o simulador
reiniciar.</p>
${saved && html`<p class="saved" role="status">${countFaults(faults) > 0 ? 'Salvo.' : 'Salvo: nenhuma falha está ligada.'}</p>`}
${problem !== null && html`<p class="alert" role="alert">${problem}</p>`}
<form class="faults" method="post" action="/falhas">
<fieldset><legend>Ao receber e-mails</legend>${fields('send', faults)}</fieldset>
<fieldset><legend>Ao mandar avisos de volta</legend>${fields('reports', faults)}</fieldset>
<p class="buttons"><button class="main" type="submit">Salvar</button>
<button type="submit" name="reset" value="1">Desligar tudo</button></p>
</form>`

/** A seed alone breaks nothing. */
export const countFaults = (faults: Faults): number =>
  FAULT_FIELDS.filter(({ name }) => name !== 'seed' && faults[name] !== NO_FAULTS[name]).length

const fields = (about: FaultField['about'], faults: Faults): Html[] =>
  FAULT_FIELDS.filter(field => field.about === about).map(field =>
    field.kind === 'switch'
      ? html`<div class="field switch">
<input type="checkbox" id="${field.name}" name="${field.name}"${faults[field.name] === true && html` checked`} aria-describedby="${field.name}-ajuda">
<label for="${field.name}">${field.label}</label>
<p id="${field.name}-ajuda">${field.help}</p></div>`
      : html`<div class="field">
<label for="${field.name}">${field.label}</label>
<input type="number" id="${field.name}" name="${field.name}" min="0" max="${field.most}" step="${field.step}" value="${Number(faults[field.name])}" required aria-describedby="${field.name}-ajuda">
<p id="${field.name}-ajuda">${field.help}</p></div>`,
  )

/** A form has only texts, and says nothing of a switch that is off. */
export function readFaultsForm(form: URLSearchParams): Record<string, unknown> {
  if (form.has('reset')) return {}
  return Object.fromEntries(
    FAULT_FIELDS.map(({ name, kind }) => [name, kind === 'switch' ? form.has(name) : readNumber(form.get(name))]),
  )
}

const readNumber = (text: string | null): number | string => (text === null || text.trim() === '' ? 'missing' : Number(text))
