interface Said {
  type?: unknown
  text?: { body?: unknown }
  button?: { text?: unknown }
  interactive?: { button_reply?: { title?: unknown }; list_reply?: { title?: unknown }; nfm_reply?: { body?: unknown } }
  reaction?: { emoji?: unknown }
  [kind: string]: unknown
}

/** Files and the like are replies too, also without a caption. */
const KINDS = new Map<unknown, string>([
  ['image', 'imagem'],
  ['audio', 'áudio'],
  ['video', 'vídeo'],
  ['document', 'documento'],
  ['sticker', 'figurinha'],
  ['location', 'localização'],
  ['contacts', 'contato'],
  ['order', 'pedido'],
])

/**
 * The text of a person's message: WhatsApp has its own structure for every kind of message. null: the message is no reply (a number that
 * changed, a reaction that was removed).
 */
export function replyText(message: object): string | null {
  const said = message as Said
  switch (said.type) {
    case 'text':
      return written(said.text?.body)
    case 'button':
      return written(said.button?.text)
    case 'interactive': {
      const { button_reply, list_reply, nfm_reply } = said.interactive ?? {}
      return written(button_reply?.title) ?? written(list_reply?.title) ?? written(nfm_reply?.body)
    }
    case 'reaction':
      return written(said.reaction?.emoji)
    default: {
      const kind = KINDS.get(said.type)
      if (kind === undefined) return null
      const caption = written((said[String(said.type)] as { caption?: unknown } | undefined)?.caption)
      return caption === null ? `[${kind}]` : `[${kind}] ${caption}`
    }
  }
}

const written = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
