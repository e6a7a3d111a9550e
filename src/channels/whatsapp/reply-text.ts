/** What a person's message says, in words: WhatsApp has a shape of its own for every kind. */
interface Said {
  type?: unknown
  text?: { body?: unknown }
  button?: { text?: unknown }
  interactive?: { button_reply?: { title?: unknown }; list_reply?: { title?: unknown }; nfm_reply?: { body?: unknown } }
  reaction?: { emoji?: unknown }
  [kind: string]: unknown
}

/** Files and the like are answers too, even where nothing is written on them. */
const KINDS: Readonly<Record<string, string>> = {
  image: 'imagem',
  audio: 'áudio',
  video: 'vídeo',
  document: 'documento',
  sticker: 'figurinha',
  location: 'localização',
  contacts: 'contato',
  order: 'pedido',
}

/** null: nobody said anything (a number that changed, a reaction that was taken back). */
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
      const kind = typeof said.type === 'string' && Object.hasOwn(KINDS, said.type) ? said.type : null
      if (kind === null) return null
      const caption = written((said[kind] as { caption?: unknown } | undefined)?.caption)
      return caption === null ? `[${KINDS[kind]}]` : `[${KINDS[kind]}] ${caption}`
    }
  }
}

const written = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)
