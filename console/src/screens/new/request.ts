import type { ComposeForm } from '../../../../src/http/console/sending/compose-schema.js'

/** `size`: what a person sees of it. */
export interface Attachment {
  name: string
  size: number
  base64: string
}

export interface Draft {
  /** By the path of the member that they fill in: 'nameTo', 'sms.number'. */
  values: Readonly<Record<string, string>>
  /** The channels that it goes by. */
  channels: readonly string[]
  attachments: readonly Attachment[]
}

export const CORE = ['nameTo', 'subject', 'content', 'customID', 'sendAt'] as const

/** The body of POST /gw/email that the form stands for, without the files; empty fields are absent. */
export function toRequest({ values, channels }: Draft, form: ComposeForm): Record<string, unknown> {
  const request: Record<string, unknown> = {}
  const put = (path: string, value: string): void => {
    const names = path.split('.')
    const last = names.pop()!
    let at = request
    for (const name of names) {
      at[name] ??= {}
      at = at[name] as Record<string, unknown>
    }
    at[last] = value
  }
  for (const path of CORE) if ((values[path] ?? '').trim() !== '') put(path, values[path]!)
  if (values.content !== undefined && values.content.trim() !== '') put('content', toMarkup(values.content))
  if (form.canAskQuestion && (values['validation.question'] ?? '') !== '') {
    put('validation.question', values['validation.question']!)
    put('validation.reply', values['validation.reply'] ?? '')
  }
  for (const channel of form.channels.filter(({ channel: name }) => channels.includes(name))) {
    const hasTemplate = (values[channel.template] ?? '') !== ''
    // What the channel needs first, even if empty: the gateway says which field is missing.
    for (const field of channel.fields) {
      const value = values[field.path] ?? ''
      if (field.withoutTemplate && hasTemplate) continue
      if (value.trim() !== '' || (field.required && field.kind !== 'text')) put(field.path, value.trim())
      else if (field.required) putObject(request, field.path)
    }
    if (!hasTemplate) continue
    put(channel.template, values[channel.template]!)
    const prefix = `${channel.values}.`
    for (const [path, value] of Object.entries(values))
      if (path.startsWith(prefix) && path !== channel.template && value.trim() !== '') put(path, value)
  }
  return request
}

/** The channel was chosen, so that its member is there even while its fields are empty. */
function putObject(request: Record<string, unknown>, path: string): void {
  const [member] = path.split('.')
  if (path.includes('.')) request[member!] ??= {}
}

/** A text without markup becomes paragraphs. */
function toMarkup(content: string): string {
  if (/<[a-z!/]/i.test(content)) return content
  const escaped = content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped
    .split(/\n{2,}/)
    .filter(paragraph => paragraph.trim() !== '')
    .map(paragraph => `<p>${paragraph.trim().replaceAll('\n', '<br>')}</p>`)
    .join('\n')
}

/** The text that a person typed, if this is the markup of a text; any other markup stays as it is. */
export function toText(markup: string): string {
  const text = markup
    .split('\n')
    .map(paragraph =>
      paragraph
        .replace(/^<p>/, '')
        .replace(/<\/p>$/, '')
        .replaceAll('<br>', '\n'),
    )
    .join('\n\n')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
  return toMarkup(text) === markup ? text : markup
}

/** The field that a refusal names, the longest path first; null: it names none of the form. */
export function fieldOf(message: string, paths: readonly string[]): string | null {
  const longestFirst = [...paths].sort((one, other) => other.length - one.length)
  return (
    longestFirst.find(path => new RegExp(`(^|[\\s"(])${path.replaceAll('.', '\\.')}($|[\\s",;:)]|\\.(\\s|$))`).test(message)) ??
    null
  )
}
