import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../src/domain/errors.js'
import type { Html } from '../../src/domain/text/html.js'
import { channelOf, findChannel } from '../channel.js'
import type { StoredMessage } from '../inbox.js'
import { SimulatorError } from '../simulator-error.js'
import { type ApiParts, findStored, readAction, readReply } from './api.js'
import { CONFIRMATION, emptyPage } from './empty-page.js'
import { fatesPage } from './fates-page.js'
import { countFaults, faultsPage, readFaultsForm } from './faults-page.js'
import { type Group, titleOf } from './group.js'
import { type InboxView, inboxPage, inboxPart } from './inbox-page.js'
import { ICON_FILE, LIVE_SCRIPT, layout, messagePolicy, PAGE_POLICY, type Page } from './layout.js'
import { messagePage, reportsPart } from './message-page.js'
import { notificationPage, notificationPart } from './notification-page.js'
import { type Query, readForm, readText } from './readers.js'
import { STYLE } from './style.js'

type ById = { Params: { id: string } }

/** The pages for people, rendered on the server and readable without scripts. */
export function addPages(app: FastifyInstance, { inbox, channels }: ApiParts): void {
  const show = (reply: FastifyReply, page: Omit<Page, 'faults'>, security = PAGE_POLICY): FastifyReply =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', security)
      .send(layout({ ...page, faults: countFaults(channels) }))
  const showPart = (reply: FastifyReply, part: Html): FastifyReply =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(part.text)

  app.get('/', async (request, reply) => {
    const view = inboxView(request)
    return show(reply, { title: 'Mensagens', current: 'inbox', live: true, body: inboxPage(view) })
  })
  app.get('/parciais/caixa', async (request, reply) => showPart(reply, inboxPart(inboxView(request))))
  const askToEmpty = (reply: FastifyReply): FastifyReply =>
    show(reply, { title: 'Esvaziar', current: null, body: emptyPage(inbox.size) })
  app.get('/esvaziar', async (_request, reply) => askToEmpty(reply))
  // Without the confirmation nothing is deleted, whoever wrote the form.
  app.post('/esvaziar', async ({ body }, reply) => {
    if (!readForm(body).has(CONFIRMATION)) return askToEmpty(reply)
    inbox.clear()
    return reply.redirect('/?esvaziada=1', 303)
  })

  app.get<ById>('/notificacoes/:id', async ({ params }, reply) => {
    const group = findGroup(params.id)
    const body = notificationPage(channels, group)
    return show(reply, { title: titleOf(channels, group), current: null, live: true, body })
  })
  app.get<ById>('/parciais/notificacoes/:id', async ({ params }, reply) =>
    showPart(reply, notificationPart(channels, findGroup(params.id))),
  )

  app.get<ById>('/mensagens/:id', async ({ params }, reply) => showMessage(reply, findStored(inbox, params.id), null))
  app.get<ById>('/parciais/mensagens/:id', async ({ params }, reply) => {
    const { message } = findStored(inbox, params.id)
    return showPart(reply, reportsPart(channelOf(channels, message), message))
  })
  app.post<ById>('/mensagens/:id/acoes', async ({ params, body }, reply) => {
    const stored = findStored(inbox, params.id)
    const form = readForm(body)
    try {
      const channel = channelOf(channels, stored.message)
      await channel.act(stored.message, readAction(channel, form.get('action')), readReply(form.get('text') ?? undefined))
    } catch (error) {
      if (!(error instanceof SimulatorError)) throw error
      return showMessage(reply.code(error.status), stored, error.message)
    }
    return reply.redirect(`/mensagens/${stored.message.id}#retornos`, 303)
  })

  app.get('/destinatarios', async (_request, reply) =>
    show(reply, { title: 'Destinatários de teste', current: 'fates', body: fatesPage(channels) }),
  )
  app.get('/falhas', async ({ query }, reply) => {
    const saved = readText(query as Query, 'salvo') !== undefined
    return show(reply, { title: 'Falhas', current: 'faults', body: faultsPage({ channels, saved, problem: null }) })
  })
  app.post<{ Params: { channel: string } }>('/falhas/:channel', async ({ params, body }, reply) => {
    const channel = findChannel(channels, params.channel)
    if (channel === undefined) throw new SimulatorError(404, 'Este canal não existe no simulador.')
    try {
      channel.faults.set(channel.faults.read(readFaultsForm(channel.faults, readForm(body)), channel.channel))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const page = faultsPage({ channels, saved: false, problem: error.message })
      return show(reply.code(400), { title: 'Falhas', current: 'faults', body: page })
    }
    return reply.redirect('/falhas?salvo=1', 303)
  })

  app.get('/simulator/style.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/simulator/live.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(LIVE_SCRIPT))
  app.get('/simulator/icon.svg', async (_request, reply) => reply.type('image/svg+xml').send(ICON_FILE))

  function findGroup(id: string): Group {
    const notification = id.toLowerCase()
    const messages = inbox.list({ notification })
    if (messages.length === 0)
      throw new SimulatorError(404, 'Nenhuma mensagem desta notificação: nada chegou ainda, ou as mensagens foram apagadas.')
    return { notification, messages }
  }

  async function showMessage(reply: FastifyReply, stored: StoredMessage, problem: string | null): Promise<FastifyReply> {
    const { message } = stored
    const channel = channelOf(channels, message)
    const { notification } = message
    const siblings = notification === null ? [] : inbox.list({ notification }).filter(({ id }) => id !== message.id)
    const others = siblings.map(sibling => ({ id: sibling.id, name: channelOf(channels, sibling).name }))
    const body = messagePage({ channel, message, problem, others, ...(await channel.render(stored)) })
    return show(reply, { title: message.subject || '(sem assunto)', current: null, body }, messagePolicy(channel.allowedContent))
  }

  function inboxView({ query, protocol, host }: FastifyRequest): InboxView {
    const text = (name: string): string => (readText(query as Query, name) ?? '').trim()
    const [to, subject, channel, page] = [text('to'), text('subject'), text('channel'), text('page')]
    const filter = Object.fromEntries(Object.entries({ about: to, subject, channel }).filter(([, value]) => value !== ''))
    return {
      channels,
      messages: inbox.list(filter),
      total: inbox.size,
      to,
      subject,
      channel,
      emptied: text('esvaziada') !== '',
      page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
      url: `${protocol}://${host}`,
    }
  }
}
