import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { logoPath } from '../../domain/send/logo.js'
import { type SenderDetail, senderDetails, brandName as senderName } from '../../domain/send/sender.js'
import { Html, html } from '../../domain/text/html.js'
import type { VisitedDelivery } from '../../store/recipient/visits.js'
import { SCRIPT_PATH, STYLE_PATH } from './assets.js'

export type Brand = Pick<VisitedDelivery, 'accountName' | 'settings' | 'logo'>

export interface LinkView {
  visited: VisitedDelivery
  path: string
  stamp: string
}

export interface Page {
  title: string
  /** null: the page must not reveal the sender. */
  brand: Brand | null
  body: Html
  wide?: boolean
  footer?: string
  /** A module of ours that the page loads beside the script of every page. */
  script?: string
}

export const brandName = ({ settings, accountName }: Brand): string => senderName(settings, accountName)

/** A sample inside a page of ours: no script runs in it, and nothing can be sent from it. */
const SAMPLE = { ancestors: "'self'; sandbox", frame: 'SAMEORIGIN' }
const WHOLE = { ancestors: "'none'", frame: 'DENY' }

/** Sends a page that may use only our own files and forms, and may be neither framed nor cached. */
export function sendPage(reply: FastifyReply, status: number, page: Page, isSample = false): FastifyReply {
  const { ancestors, frame } = isSample ? SAMPLE : WHOLE
  const color = page.brand?.settings['brand.color'] ?? ''
  const style = color === '' ? '' : `:root{--brand:${color}}`
  const styles = style === '' ? "'self'" : `'self' 'sha256-${hash('sha256', style, 'base64')}'`
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .headers({
      'content-security-policy': `default-src 'none'; style-src ${styles}; script-src 'self'; img-src 'self' data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors ${ancestors}`,
      'x-frame-options': frame,
      ...privateHeaders,
    })
    .send(renderPage(page, style))
}

/** Not "no-referrer", because browsers would then send "Origin: null" with our own forms. */
export const privateHeaders: Record<string, string> = {
  'cache-control': 'no-store, private',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
}

/** The footer of pages that no sender owns: the gateway speaks for itself. */
export const GATEWAY_FOOTER = 'Carteiro: notificações por vários canais, com comprovante.'

const PROTECTED = 'Página protegida. Nunca pedimos senhas, códigos nem dados de cartão.'

const renderPage = ({ title, brand, body, wide, footer = PROTECTED, script }: Page, style: string): string =>
  html`<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${STYLE_PATH}">
${style === '' ? null : new Html(`<style>${style}</style>`)}
<script src="${SCRIPT_PATH}" defer></script>
${script !== undefined && html`<script type="module" src="${script}"></script>`}
</head>
<body${wide === true ? html` class="wide"` : null}>
${brand === null ? html`<header></header>` : header(brand)}
<main>
${body}
</main>
<footer>${footer}</footer>
</body>
</html>
`.text

const header = (brand: Brand): Html => html`<header>
${
  brand.logo === null
    ? html`<span class="mark" aria-hidden="true">${[...brandName(brand)][0]!.toUpperCase()}</span>`
    : html`<img class="logo" src="${logoPath(brand.logo)}" alt="">`
}
<div class="sender">${brandName(brand)}<small>enviou uma notificação a você</small></div>
</header>`

/** Whether the account states more of itself than its name. */
export const statesIdentity = ({ settings }: Brand): boolean => senderDetails(settings).length > 0

/** The rows of a list that say who the sender is, as far as the account states it. */
export const senderRows = (label: string, brand: Brand): Html => {
  const details = senderDetails(brand.settings)
  const unlabelled = details.filter(detail => detail.label === '')
  return html`<dt>${label}</dt><dd>${brandName(brand)}${unlabelled.map(({ value }) => html`<span class="legal">${value}</span>`)}</dd>
${details.filter(detail => detail.label !== '').map(detail => html`${term(detail.label)}<dd>${shownDetail(detail)}</dd>`)}`
}

/** A phone shows a long name above its value, where it takes no room from the other values. */
export const term = (name: string): Html => (name.length > 16 ? html`<dt class="long">${name}</dt>` : html`<dt>${name}</dt>`)

const shownDetail = ({ value, href }: SenderDetail): Html =>
  href === null ? html`${value}` : html`<a href="${href}" target="_blank" rel="noopener noreferrer">${value}</a>`

export const CHECK = html`<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M4.5 12.5l5 5 10-11"/></svg>`

/**
 * A form with hidden fields: the time of its page, whether the script saw an automated browser, and fields that people do not see
 * and programs fill in. Those follow the real button, because Enter presses the first one.
 */
export const form = (action: string, stamp: string, body: Html): Html => html`<form method="post" action="${action}">
<input type="hidden" name="carimbo" value="${stamp}">
<input type="hidden" name="guiado" value="">
${body}
<div class="trap" aria-hidden="true">
<input type="text" name="complemento_extra" value="" tabindex="-1" autocomplete="off">
<button name="aceitar_tudo" value="1" tabindex="-1">Aceitar tudo</button>
</div>
</form>`

export const pressAgain = (failure: string): Html =>
  html`<div class="notice" role="alert"><strong>${failure}</strong> Para termos certeza de que foi você, e não um programa, pressione o botão mais uma vez.</div>`

export function duration(ms: number): string {
  const minutes = Math.max(1, Math.ceil(ms / 60_000))
  if (minutes < 60) return minutes === 1 ? '1 minuto' : `${minutes} minutos`
  const hours = Math.ceil(minutes / 60)
  return hours === 1 ? '1 hora' : `${hours} horas`
}
