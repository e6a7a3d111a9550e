import type { SenderDetail } from '../../../domain/send/sender.js'
import { Html, html } from '../../../domain/text/html.js'
import { cutText } from '../../../domain/text/text.js'
import { CONTENT_CLASS, LINES_CLASS, WIDE_CLASS } from './style-rules.js'

/**
 * The designed part of an e-mail: who writes above the content, the recipient's link and the sender's identity below it. Tables and
 * attributes carry the layout, because Outlook for Windows knows neither max-width nor the padding of a link. Every text has an explicit
 * colour on an explicit ground, so that programs which turn colours over for the dark keep the contrast; the ground stays light
 * because senders write their content for white paper.
 */
export interface Frame {
  sender: FrameSender
  subject: string
  recipientName: string
  /** The recipient's own link, and the image that records a reading. */
  link: string
  image: string
}

export interface FrameSender {
  name: string
  /** As #rrggbb, with enough contrast to white for text. */
  color: string
  logo: FrameLogo | null
  details: readonly SenderDetail[]
}

/** The size in which the logo is shown. */
interface FrameLogo {
  url: string
  width: number
  height: number
}

const FONT = "font-family:'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
const [INK, SOFT, PAPER, GROUND, LINE] = ['#1b2430', '#55606e', '#ffffff', '#eef1f4', '#dde2e9']
const SIDES = 28
const LONGEST_TITLE = 200

/**
 * A program that ignores it shows the same message with wider margins. What is too wide for the page is made narrower, or scrolls in its
 * own box; `contain` keeps what the sender positions freely from lying above our button.
 */
const STYLE = `:root{color-scheme:light}
.${CONTENT_CLASS}{overflow-x:auto;overflow-wrap:break-word;contain:layout paint}
.${WIDE_CLASS}{overflow-x:auto}.${LINES_CLASS}{font-size:14.5px}
.${CONTENT_CLASS}>div{max-width:100%!important;box-sizing:border-box}
.${CONTENT_CLASS}>div>:first-child{margin-top:0}.${CONTENT_CLASS}>div>:last-child{margin-bottom:0}
.${CONTENT_CLASS} table{max-width:100%!important}
.${CONTENT_CLASS} img{max-width:100%!important;height:auto!important}
@media (max-width:600px){.nt-ground{padding:0!important}.nt-side{padding-left:18px!important;padding-right:18px!important}
.nt-card{border-radius:0!important;border-left:0!important;border-right:0!important}.nt-button{width:100%!important}.nt-button a{display:block!important}}`

/** Shows that a table goes on. In a style sheet of its own: some programs leave out a whole style sheet when they do not know one selector of it. */
const SCROLL_STYLE = `.${WIDE_CLASS}::-webkit-scrollbar{height:9px}.${WIDE_CLASS}::-webkit-scrollbar-track{background:${GROUND};border-radius:5px}
.${WIDE_CLASS}::-webkit-scrollbar-thumb{background:#8a94a0;border-radius:5px}`

/** The beginning of the document, with our style sheets; those of the sender may follow. */
export function frameHead({ subject }: Pick<Frame, 'subject'>): string {
  return html`<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<meta name="supported-color-schemes" content="light">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no">
<meta name="x-apple-disable-message-reformatting">
<title>${titleOf(subject)}</title>
<style>${new Html(STYLE)}</style>
<style>${new Html(SCROLL_STYLE)}</style>
`.text
}

/** Everything between the style sheets and the content: whole lines, as the head is. */
export function frameTop({ sender, subject }: Pick<Frame, 'sender' | 'subject'>, preview: string): string {
  return html`</head>
<body style="margin:0;padding:0;background-color:${GROUND}">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all;font-size:1px;line-height:1px;color:${PAPER}">${preview}</div>
<div role="article" aria-roledescription="e-mail" aria-label="${titleOf(subject)}" lang="pt-BR">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="${GROUND}" style="background-color:${GROUND}">
<tr><td class="nt-ground" align="center" style="padding:24px 12px">
<table class="nt-card" role="presentation" width="600" cellpadding="0" cellspacing="0" border="0" bgcolor="${PAPER}" style="width:100%;max-width:600px;table-layout:fixed;border-collapse:separate;background-color:${PAPER};border:1px solid ${LINE};border-radius:14px;overflow:hidden">
<tr><td height="6" bgcolor="${sender.color}" style="height:6px;line-height:6px;font-size:0;background-color:${sender.color}">&nbsp;</td></tr>
<tr><td class="nt-side" align="left" style="padding:20px ${SIDES}px;border-bottom:1px solid ${LINE}">
${header(sender)}
</td></tr>
<tr><td class="nt-side" align="left" style="padding:26px ${SIDES}px;${FONT};font-size:16px;line-height:1.55;color:${INK}">
`.text
}

/** What stands in the frame of one e-mail. */
export interface Framed {
  preview: string
  /** The sender's own style sheet, as a whole line; empty: there is none. */
  styles: string
  content: string
  invitation: string
}

export const frameAround = (frame: Frame, { preview, styles, content, invitation }: Framed): string =>
  `${frameHead(frame)}${styles}${frameTop(frame, preview)}${content}${frameEnd(frame, invitation)}`

/** As the frame names the e-mail. */
export const titleOf = (subject: string): string => cutText(subject, LONGEST_TITLE)

/** Everything below the content: the end of its last line, then whole lines. */
export function frameEnd({ sender, link, image }: Pick<Frame, 'sender' | 'link' | 'image'>, invitation: string): string {
  return html`
</td></tr>
<tr><td class="nt-side" align="left" style="padding:4px ${SIDES}px 26px;${FONT};color:${INK}">
<p style="margin:0 0 16px;padding-top:22px;border-top:1px solid ${LINE};font-size:15px;line-height:1.5;color:${INK}">${invitation}</p>
${button(sender.color, link)}
<p style="margin:16px 0 2px;font-size:13px;line-height:1.5;color:${SOFT}">Se o botão não abrir, copie este endereço no navegador:</p>
<p style="margin:0;font-size:13px;line-height:1.5;word-break:break-all"><a href="${link}" style="color:${sender.color};word-break:break-all">${link}</a></p>
</td></tr>
<tr><td class="nt-side" align="left" bgcolor="${PAPER}" style="padding:20px ${SIDES}px 24px;border-top:1px solid ${LINE};background-color:${PAPER};${FONT};font-size:13px;line-height:1.6;color:${SOFT}">
<strong style="color:${INK}">${sender.name}</strong>
${sender.details.map(detail => html`<br>${identity(detail)}\n`)}
<p style="margin:12px 0 0;font-size:13px;line-height:1.6;color:${SOFT}">${PROMISE}</p>
</td></tr>
</table>
</td></tr>
</table>
</div>
<img src="${image}" width="1" height="1" alt="" style="display:block">
</body>
</html>
`.text
}

export const PROMISE = 'Ninguém pede senha, código ou pagamento para você ler esta notificação.'

const header = ({
  name,
  color,
  logo,
}: FrameSender): Html => html`<table role="presentation" cellpadding="0" cellspacing="0" border="0">
<tr><td valign="middle" style="padding-right:14px">${logo === null ? mark(name, color) : picture(name, logo)}</td>
<td valign="middle" style="${FONT};font-size:17px;line-height:1.3;font-weight:bold;color:${INK};overflow-wrap:anywhere">${name}<br>
<span style="font-size:14px;font-weight:normal;color:${SOFT}">Notificação para você</span></td></tr>
</table>`

const picture = (name: string, { url, width, height }: FrameLogo): Html =>
  html`<img src="${url}" width="${width}" height="${height}" alt="Logotipo de ${name}" style="display:block;width:${width}px;height:${height}px;border:0;${FONT};font-size:11px;line-height:1.2;color:${SOFT}">`

/** The first letter, as on the recipient's pages. */
const mark = (name: string, color: string): Html =>
  html`<table role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td width="44" height="44" align="center" valign="middle" bgcolor="${color}" aria-hidden="true" style="width:44px;height:44px;border-radius:12px;background-color:${color};${FONT};font-size:19px;font-weight:bold;color:${PAPER}">${[...name][0]?.toUpperCase() ?? ''}</td></tr></table>`

/** The cell has the colour and, for Outlook, the padding; the link has the padding for all others. */
const button = (color: string, link: string): Html =>
  html`<table class="nt-button" role="presentation" cellpadding="0" cellspacing="0" border="0"><tr><td align="center" bgcolor="${color}" style="border-radius:10px;background-color:${color};mso-padding-alt:15px 30px"><a href="${link}" style="display:inline-block;padding:15px 30px;border-radius:10px;${FONT};font-size:17px;line-height:1.2;font-weight:bold;color:${PAPER};text-decoration:none;text-align:center">Abrir a notificação</a></td></tr></table>`

const identity = ({ label, value, href }: SenderDetail): Html =>
  html`${label === '' ? null : `${label}: `}${
    href === null
      ? value
      : html`<a href="${href}" style="color:${SOFT};text-decoration:underline;word-break:break-word">${value}</a>`
  }`
