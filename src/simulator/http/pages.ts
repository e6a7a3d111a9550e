import type { FastifyInstance, FastifyReply } from 'fastify'
import { Refusal } from '../../domain/errors.js'
import { readContent } from '../email/content.js'
import { readFaults } from '../faults.js'
import type { Kept } from '../inbox.js'
import { Refused } from '../refused.js'
import { type ApiParts, findKept, readAction, readReply, readText } from './api.js'
import { fatesPage } from './fates-page.js'
import { countFaults, faultsPage, readFaultsForm } from './faults-page.js'
import type { Html } from './html.js'
import { type InboxView, inboxPage, inboxPart } from './inbox-page.js'
import { ICON_FILE, LIVE_SCRIPT, layout, MESSAGE_POLICY, PAGE_POLICY, type Page } from './layout.js'
import { messagePage, reportsPart } from './message-page.js'
import { STYLE } from './style.js'

type ById = { Params: { id: string } }

/** What people see: rendered here, readable without script. */
export function addPages(app: FastifyInstance, { inbox, recipient, faults, carriers }: ApiParts): void {
  const show = (reply: FastifyReply, page: Omit<Page, 'faults'>, security = PAGE_POLICY): FastifyReply =>
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', security)
      .send(layout({ ...page, faults: countFaults(faults.now) }))
  const showPart = (reply: FastifyReply, part: Html): FastifyReply =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', PAGE_POLICY).send(part.text)

  app.get('/', async ({ query }, reply) => {
    const view = inboxView(query)
    return show(reply, { title: 'Mensagens', current: 'inbox', live: true, body: inboxPage(view) })
  })
  app.get('/parciais/caixa', async ({ query }, reply) => showPart(reply, inboxPart(inboxView(query))))
  app.post('/esvaziar', async (_request, reply) => {
    inbox.clear()
    return reply.redirect('/', 303)
  })

  app.get<ById>('/mensagens/:id', async ({ params }, reply) => showMessage(reply, findKept(inbox, params.id), null))
  app.get<ById>('/parciais/mensagens/:id', async ({ params }, reply) =>
    showPart(reply, reportsPart(findKept(inbox, params.id).mail)),
  )
  app.post<ById>('/mensagens/:id/acoes', async ({ params, body }, reply) => {
    const kept = findKept(inbox, params.id)
    const form = readForm(body)
    try {
      await recipient.act(kept.mail, readAction(form.get('action')), readReply(form.get('text') ?? undefined))
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      return showMessage(reply.code(error.status), kept, error.message)
    }
    return reply.redirect(`/mensagens/${kept.mail.id}#retornos`, 303)
  })

  app.get('/destinatarios', async (_request, reply) =>
    show(reply, { title: 'Destinatários de teste', current: 'fates', body: fatesPage() }),
  )
  app.get('/falhas', async ({ query }, reply) => {
    const saved = readText(query as Record<string, string>, 'salvo') !== undefined
    return show(reply, { title: 'Falhas', current: 'faults', body: faultsPage({ faults: faults.now, saved, problem: null }) })
  })
  app.post('/falhas', async ({ body }, reply) => {
    try {
      faults.set(readFaults(readFaultsForm(readForm(body)), 'email'))
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const page = faultsPage({ faults: faults.now, saved: false, problem: error.message })
      return show(reply.code(400), { title: 'Falhas', current: 'faults', body: page })
    }
    return reply.redirect('/falhas?salvo=1', 303)
  })

  app.get('/simulator/style.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(STYLE))
  app.get('/simulator/live.js', async (_request, reply) => reply.type('text/javascript; charset=utf-8').send(LIVE_SCRIPT))
  app.get('/simulator/icon.svg', async (_request, reply) => reply.type('image/svg+xml').send(ICON_FILE))

  async function showMessage(reply: FastifyReply, kept: Kept, problem: string | null): Promise<FastifyReply> {
    const view = { ...kept, content: await readContent(kept.raw), problem }
    return show(reply, { title: kept.mail.subject || '(sem assunto)', current: null, body: messagePage(view) }, MESSAGE_POLICY)
  }

  function inboxView(query: unknown): InboxView {
    const text = (name: string): string => (readText(query as Record<string, string>, name) ?? '').trim()
    const [to, subject, page] = [text('to'), text('subject'), text('page')]
    const mails = inbox.list({ ...(to === '' ? {} : { to }), ...(subject === '' ? {} : { subject }) })
    return {
      mails,
      total: inbox.size,
      to,
      subject,
      page: /^[1-9]\d{0,5}$/.test(page) ? Number(page) : 1,
      smtpUrl: carriers.email ?? '',
    }
  }
}

const readForm = (body: unknown): URLSearchParams => (body instanceof URLSearchParams ? body : new URLSearchParams())
