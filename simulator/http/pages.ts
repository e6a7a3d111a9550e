import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../src/domain/errors.js'
import type { Html } from '../../src/domain/html.js'
import { deskOf, findDesk } from '../desk.js'
import type { Kept } from '../inbox.js'
import { Refused } from '../refused.js'
import { type ApiParts, findKept, readAction, readReply } from './api.js'
import { fatesPage } from './fates-page.js'
import { countFaults, faultsPage, readFaultsForm } from './faults-page.js'
import { type InboxView, inboxPage, inboxPart } from './inbox-page.js'
import { ICON_FILE, LIVE_SCRIPT, layout, messagePolicy, PAGE_POLICY, type Page } from './layout.js'
import { messagePage, reportsPart } from './message-page.js'
import { type Query, readForm, readText } from './readers.js'
import { STYLE } from './style.js'

type ById = { Params: { id: string } }

/** What people see: rendered here, readable without script. */
export function addPages(app: FastifyInstance, { inbox, desks }: ApiParts): void {
  const show = (reply: FastifyReply, page: Omit<Page, 'faults'>, security = PAGE_POLICY): FastifyReply =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', security)
      .send(layout({ ...page, faults: countFaults(desks) }))
  const showPart = (reply: FastifyReply, part: Html): FastifyReply =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(part.text)

  app.get('/', async (request, reply) => {
    const view = inboxView(request)
    return show(reply, { title: 'Mensagens', current: 'inbox', live: true, body: inboxPage(view) })
  })
  app.get('/parciais/caixa', async (request, reply) => showPart(reply, inboxPart(inboxView(request))))
  app.post('/esvaziar', async (_request, reply) => {
    inbox.clear()
    return reply.redirect('/', 303)
  })

  app.get<ById>('/mensagens/:id', async ({ params }, reply) => showMessage(reply, findKept(inbox, params.id), null))
  app.get<ById>('/parciais/mensagens/:id', async ({ params }, reply) => {
    const { message } = findKept(inbox, params.id)
    return showPart(reply, reportsPart(deskOf(desks, message), message))
  })
  app.post<ById>('/mensagens/:id/acoes', async ({ params, body }, reply) => {
    const kept = findKept(inbox, params.id)
    const form = readForm(body)
    try {
      const desk = deskOf(desks, kept.message)
      await desk.act(kept.message, readAction(desk, form.get('action')), readReply(form.get('text') ?? undefined))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return showMessage(reply.code(error.status), kept, error.message)
    }
    return reply.redirect(`/mensagens/${kept.message.id}#retornos`, 303)
  })

  app.get('/destinatarios', async (_request, reply) =>
    show(reply, { title: 'Destinatários de teste', current: 'fates', body: fatesPage(desks) }),
  )
  app.get('/falhas', async ({ query }, reply) => {
    const saved = readText(query as Query, 'salvo') !== undefined
    return show(reply, { title: 'Falhas', current: 'faults', body: faultsPage({ desks, saved, problem: null }) })
  })
  app.post<{ Params: { channel: string } }>('/falhas/:channel', async ({ params, body }, reply) => {
    const desk = findDesk(desks, params.channel)
    if (desk === undefined) throw new Refused(404, 'Este canal não tem balcão no simulador.')
    try {
      desk.faults.set(desk.faults.read(readFaultsForm(desk.faults, readForm(body)), desk.channel))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const page = faultsPage({ desks, saved: false, problem: error.message })
      return show(reply.code(400), { title: 'Falhas', current: 'faults', body: page })
    }
    return reply.redirect('/falhas?salvo=1', 303)
  })

  app.get('/simulator/style.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/simulator/live.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(LIVE_SCRIPT))
  app.get('/simulator/icon.svg', async (_request, reply) => reply.type('image/svg+xml').send(ICON_FILE))

  async function showMessage(reply: FastifyReply, kept: Kept, problem: string | null): Promise<FastifyReply> {
    const { message } = kept
    const desk = deskOf(desks, message)
    const body = messagePage({ desk, message, problem, ...(await desk.render(kept)) })
    return show(reply, { title: message.subject || '(sem assunto)', current: null, body }, messagePolicy(desk.shows))
  }

  function inboxView({ query, protocol, host }: FastifyRequest): InboxView {
    const text = (name: string): string => (readText(query as Query, name) ?? '').trim()
    const [to, subject, channel, page] = [text('to'), text('subject'), text('channel'), text('page')]
    const filter = Object.fromEntries(Object.entries({ to, subject, channel }).filter(([, value]) => value !== ''))
    return {
      desks,
      messages: inbox.list(filter),
      total: inbox.size,
      to,
      subject,
      channel,
      page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
      url: `${protocol}://${host}`,
    }
  }
}
