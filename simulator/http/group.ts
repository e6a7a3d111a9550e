import { brazilianDate } from '../../src/domain/text/dates.js'
import { type Html, html } from '../../src/domain/text/html.js'
import { channelOf, type SimulatedChannel } from '../channel.js'
import type { Message } from '../message.js'
import { chips } from './labels.js'

/** The messages of one notification, newest first. A message that tells no notification is alone in its group. */
export interface Group {
  notification: string | null
  messages: Message[]
}

/** In the order of their newest message; the messages come newest first. */
export function groupMessages(messages: readonly Message[]): Group[] {
  const groups = new Map<string, Group>()
  for (const message of messages) {
    const key = message.notification ?? message.id
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { notification: message.notification, messages: [message] })
    else group.messages.push(message)
  }
  return [...groups.values()]
}

/** The subject of the e-mail or of the letter; without one, the newest message's own line. */
export function titleOf(channels: readonly SimulatedChannel[], { messages }: Group): string {
  const titled = messages.find(message => channelOf(channels, message).hasTitles === true && message.subject !== '')
  return (titled ?? messages[0]!).subject || '(sem assunto)'
}

export function groupItem(channels: readonly SimulatedChannel[], group: Group): Html {
  const { notification, messages } = group
  const title = titleOf(channels, group)
  return html`<li class="group">
<div class="group-top">
<h2>${notification === null ? title : html`<a href="/notificacoes/${notification}">${title}</a>`}</h2>
${idLine(notification)}
</div>
${messageList(channels, messages)}
</li>`
}

export const messageList = (channels: readonly SimulatedChannel[], messages: readonly Message[]): Html =>
  html`<ul class="messages">${messages.map(message => row(channelOf(channels, message), message))}</ul>`

const idLine = (notification: string | null): Html =>
  notification === null
    ? html`<p class="group-id">sem idEmail: não veio de uma notificação do gateway</p>`
    : html`<p class="group-id">idEmail <code>${notification}</code></p>`

const row = (channel: SimulatedChannel, message: Message): Html => html`<li><a href="/mensagens/${message.id}">
<span class="chip channel"><span class="hidden">canal </span>${channel.name}</span>
<span class="to"><span class="hidden">para </span>${message.to}</span>
<span class="line">${lineOf(channel, message)}</span>
<time datetime="${message.receivedAt.toISOString()}">${brazilianDate(message.receivedAt)}</time>
<span class="chips">${chips(channel, message)}</span>
</a></li>`

/** The subject of an e-mail is the title of its group already, unless the mail has no group. */
function lineOf({ hasTitles }: SimulatedChannel, { subject, from, fromName, notification }: Message): string {
  return hasTitles === true && notification !== null ? `de ${fromName || from}` : subject || '(sem assunto)'
}
