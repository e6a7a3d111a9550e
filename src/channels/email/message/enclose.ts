import { readSenderHtml } from './sender-html.js'
import { textFromHtml } from './text.js'

/** What follows the sender's content: the recipient's own link, and the image that records a reading. */
export interface Footer {
  link: string
  image: string
}

export interface Enclosed {
  html: string
  text: string
}

/** Puts the sender's content and our footer into one document, in which the content cannot reach the footer. */
export function encloseContent(content: string, { link, image }: Footer): Enclosed {
  const { styles, attributes, body } = readSenderHtml(content)
  const style = styles === '' ? '' : `<style>${styles}</style>`
  const footer = `<p style="margin-top:24px;font-size:13px;color:#555">${QUESTION} <a href="${link}">${INVITATION}</a>.</p><img src="${image}" width="1" height="1" alt="" style="display:block">`
  return {
    html: `<!doctype html>\n<html><head><meta charset="utf-8">${style}</head><body${attributes}>\n${body}\n${footer}</body></html>\n`,
    // Apart from the sender's words: in a text, what stands beside an address may become a part of it.
    text: `${textFromHtml(body)}\n\n${QUESTION} ${INVITATION}:\n${link}\n`.trimStart(),
  }
}

const QUESTION = 'Não consegue ler esta mensagem?'
const INVITATION = 'Abra a notificação no navegador'
