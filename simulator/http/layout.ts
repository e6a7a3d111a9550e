import { type Html, html } from '../../src/domain/text/html.js'
import type { AllowedContent } from '../channel.js'

export interface Page {
  title: string
  current: 'inbox' | 'fates' | 'faults' | null
  /** How many faults are on. Every page shows the number, because faults explain odd behaviour. */
  faults: number
  /** The page changes by itself; browsers without scripts reload it. */
  live?: boolean
  body: Html
}

/** Allows the simulator's own files and what the page of a message needs. A framed e-mail inherits this policy, styles included. */
export const messagePolicy = (allowed: readonly AllowedContent[]): string =>
  [
    "default-src 'none'",
    `style-src 'self'${allowed.includes('styles') ? " 'unsafe-inline'" : ''}`,
    "script-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    ...(allowed.includes('media') ? ["media-src 'self'"] : []),
    ...(allowed.includes('frame') ? ["frame-src 'self'"] : []),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
export const PAGE_POLICY = messagePolicy([])

const LINKS = [
  { page: 'inbox', href: '/', text: 'Mensagens' },
  { page: 'fates', href: '/destinatarios', text: 'Destinatários' },
  { page: 'faults', href: '/falhas', text: 'Falhas' },
] as const

export function layout({ title, current, faults, live = false, body }: Page): string {
  const page = html`<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Simulador</title>
<link rel="icon" href="/simulator/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/simulator/style.css">
<script src="/simulator/live.js" defer></script>
${live && html`<noscript><meta http-equiv="refresh" content="5"></noscript>`}
</head>
<body>
<a class="skip" href="#conteudo">Ir para o conteúdo</a>
<header class="top">
<a class="brand" href="/">${ICON}<span>Simulador <small>de operadoras</small></span></a>
<nav aria-label="Páginas"><ul>${LINKS.map(
    ({ page, href, text }) =>
      html`<li><a href="${href}"${page === current && html` aria-current="page"`}>${text}${
        page === 'faults' && faults > 0 && html` <span class="chip bad">${faults}<span class="hidden"> em ação</span></span>`
      }</a></li>`,
  )}</ul></nav>
</header>
<main id="conteudo">
${body}
</main>
</body>
</html>
`
  return page.text
}

const ICON = html`<svg aria-hidden="true" viewBox="0 0 32 32" width="28" height="28"><rect width="32" height="32" rx="8" fill="#0f6b5c"/><path d="M7 11.5 16 18l9-6.5M8.5 9h15A1.5 1.5 0 0 1 25 10.5v11a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 7 21.5v-11A1.5 1.5 0 0 1 8.5 9Z" fill="none" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>`

export const ICON_FILE = ICON.text.replace('<svg ', '<svg xmlns="http://www.w3.org/2000/svg" ')

/** Replaces the live parts while the page is visible, and keeps the keyboard focus in them. */
export const LIVE_SCRIPT = `for (const part of document.querySelectorAll('[data-live]')) {
  let shown = null
  setInterval(async () => {
    if (document.hidden) return
    try {
      const answer = await fetch(part.dataset.live)
      if (!answer.ok) return
      const text = await answer.text()
      if (text === shown) return
      shown = text
      const focused = part.contains(document.activeElement) && document.activeElement.getAttribute('href')
      part.innerHTML = text
      if (focused) [...part.querySelectorAll('a')].find(link => link.getAttribute('href') === focused)?.focus()
    } catch {}
  }, 2000)
}
`
