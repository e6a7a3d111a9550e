import { type Html, html } from '../../src/domain/text/html.js'
import type { SimulatedChannel } from '../channel.js'
import type { FaultField, FaultSwitch } from '../faults.js'

export interface FaultsView {
  channels: readonly SimulatedChannel[]
  saved: boolean
  problem: string | null
}

/** One form per channel. The page works without scripts. */
export const faultsPage = ({ channels, saved, problem }: FaultsView): Html => html`<h1>Falhas</h1>
<p class="lead">Ligue um problema e veja como o seu sistema reage. Vale para as próximas mensagens, até ser desligado ou o simulador
reiniciar.</p>
${saved && html`<p class="saved" role="status">${countFaults(channels) > 0 ? 'Salvo.' : 'Salvo: nenhuma falha está ligada.'}</p>`}
${problem !== null && html`<p class="alert" role="alert">${problem}</p>`}
${channels.map(channelForm)}`

export const countFaults = (channels: readonly SimulatedChannel[]): number =>
  channels.reduce((sum, { faults }) => sum + faults.count, 0)

const channelForm = ({ channel, name, faults }: SimulatedChannel): Html => html`<h2 id="${channel}">${name}</h2>
<form class="faults" method="post" action="/falhas/${channel}">
<fieldset><legend>Ao receber mensagens</legend>${fields(channel, 'send', faults)}</fieldset>
<fieldset><legend>Ao mandar avisos de volta</legend>${fields(channel, 'reports', faults)}</fieldset>
<p class="buttons"><button class="main" type="submit">Salvar</button>
<button type="submit" name="reset" value="1">Desligar tudo</button></p>
</form>`

const fields = (channel: string, about: FaultField['about'], faults: FaultSwitch): Html[] =>
  faults.fields
    .filter(field => field.about === about)
    .map(field => {
      const id = `${channel}-${field.name}`
      const value = faults.now[field.name]
      return field.kind === 'switch'
        ? html`<div class="field switch">
<input type="checkbox" id="${id}" name="${field.name}"${value === true && html` checked`} aria-describedby="${id}-ajuda">
<label for="${id}">${field.label}</label>
<p id="${id}-ajuda">${field.help}</p></div>`
        : html`<div class="field">
<label for="${id}">${field.label}</label>
<input type="number" id="${id}" name="${field.name}" min="0" max="${field.max}" step="${field.step}" value="${Number(value)}" required aria-describedby="${id}-ajuda">
<p id="${id}-ajuda">${field.help}</p></div>`
    })

/** Form values are texts, and a form leaves out a checkbox that is off. */
export function readFaultsForm({ fields }: FaultSwitch, form: URLSearchParams): Record<string, unknown> {
  if (form.has('reset')) return {}
  return Object.fromEntries(
    fields.map(({ name, kind }) => [name, kind === 'switch' ? form.has(name) : readNumber(form.get(name))]),
  )
}

const readNumber = (text: string | null): number | string => (text === null || text.trim() === '' ? 'missing' : Number(text))
