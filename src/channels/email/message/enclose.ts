import { showDetail } from '../../../domain/send/sender.js'
import { type Html, html } from '../../../domain/text/html.js'
import { cutText } from '../../../domain/text/text.js'
import type { BlockWriter } from '../../../runtime/byte-block.js'
import { writeFramed } from './encoded-frame.js'
import { type Frame, type Framed, frameAround, PROMISE } from './frame.js'
import { readSenderHtml } from './sender-html.js'
import { CONTENT_CLASS } from './style-rules.js'
import { textFromHtml } from './text.js'

export interface Enclosed {
  html: string
  text: string
}

/** The bodies of an e-mail, the second one as it is written into the message. */
export interface EncodedBodies {
  text: string
  writeHtml(writer: BlockWriter): void
}

/** Puts the sender's content into our frame, in which the content cannot reach the recipient's link. */
export function encloseContent(content: string, frame: Frame): Enclosed {
  const { text, ...framed } = readContent(content)
  return { html: frameAround(frame, framed), text: asText(text, INVITATION, frame) }
}

/** The same for a message that is composed: only what the e-mails of a sender do not share is encoded each time. */
export function encodeEnclosed(content: string, frame: Frame): EncodedBodies {
  const { text, ...framed } = readContent(content)
  return { text: asText(text, INVITATION, frame), writeHtml: writer => writeFramed(writer, frame, framed) }
}

function readContent(content: string): Framed & { text: string } {
  const { styles, attributes, body } = readSenderHtml(content)
  const text = textFromHtml(body)
  return {
    text,
    preview: previewOf(text),
    styles: styles === '' ? '' : `<style>${styles}</style>\n`,
    // Wide content scrolls in its own box, which the keyboard must reach.
    content: `<div class="${CONTENT_CLASS}" tabindex="0"><div${attributes}>\n${body}\n</div></div>`,
    invitation: INVITATION,
  }
}

/** In place of a content that a question protects: who writes, why it is not here, and where it is. */
export function encloseNotice(frame: Frame): Enclosed {
  const content = protectedNotice(frame).text
  return {
    html: frameAround(frame, { preview: NOTICE_PREVIEW, styles: '', content, invitation: REPLY_INVITATION }),
    text: asText(textFromHtml(content), REPLY_INVITATION, frame),
  }
}

const INVITATION = 'Abra a notificação no navegador para confirmar que a recebeu, guardar o comprovante ou ler com mais conforto.'
const REPLY_INVITATION = 'Abra a notificação e responda à pergunta para ler o conteúdo.'
const NOTICE_PREVIEW = 'O conteúdo é protegido por uma pergunta que só você deve saber responder.'
/** Mail programs show about so much of a message beside its subject. */
const PREVIEW = 140
const LONGEST_NAME = 100

/** An address tells nothing in a preview, and the recipient's own link does not belong there. */
const previewOf = (text: string): string =>
  cutText(
    text
      .slice(0, 2_000)
      .replace(/\(?https?:\/\/\S+/g, '')
      // Single spaces stay as they are: most texts have nothing else to replace.
      .replace(/[^\S ]\s*| \s+/g, ' ')
      .trim(),
    PREVIEW,
  )

/** The link has a line of its own: in a text, what stands beside an address may become a part of it. */
const asText = (content: string, invitation: string, { sender, link }: Frame): string =>
  `${content === '' ? '' : `${content}\n\n`}${RULE}\n${invitation}\n\n${link}\n\n${RULE}\n${[sender.name, ...sender.details.map(showDetail), PROMISE].join('\n')}\n`

const RULE = '-'.repeat(40)

const protectedNotice = ({
  sender,
  subject,
  recipientName,
}: Frame): Html => html`<h1 style="margin:0 0 14px;font-size:22px;line-height:1.3;color:#1b2430">Uma notificação protegida para você</h1>
<p style="margin:0 0 14px">Olá, ${cutText(recipientName, LONGEST_NAME)}.</p>
<p style="margin:0 0 14px">Há uma notificação de <strong>${sender.name}</strong> para você, protegida por uma pergunta. Por isso o conteúdo e os anexos não estão nesta mensagem: só quem sabe a resposta os lê.</p>
<p style="margin:0;padding:12px 16px;background-color:#f5f7f9;border-radius:10px;color:#1b2430;overflow-wrap:anywhere"><span style="color:#55606e">Assunto:</span> ${cutText(subject, LONGEST_SUBJECT)}</p>`

const LONGEST_SUBJECT = 300
