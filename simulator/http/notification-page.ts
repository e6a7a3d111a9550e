import { type Html, html } from '../../src/domain/text/html.js'
import type { SimulatedChannel } from '../channel.js'
import { type Group, messageList, titleOf } from './group.js'

/** All messages of one notification, on whichever channels. */
export const notificationPage = (
  channels: readonly SimulatedChannel[],
  group: Group,
): Html => html`<p class="back"><a href="/">← Mensagens</a></p>
<h1>${titleOf(channels, group)}</h1>
<p class="group-id">idEmail <code>${group.notification}</code></p>
<div data-live="/parciais/notificacoes/${group.notification}">${notificationPart(channels, group)}</div>`

/** The part of the page that the live script replaces. */
export const notificationPart = (channels: readonly SimulatedChannel[], { messages }: Group): Html =>
  html`<p class="count" role="status">${messages.length === 1 ? '1 mensagem' : `${messages.length} mensagens`} desta notificação</p>
<div class="group">${messageList(channels, messages)}</div>`
