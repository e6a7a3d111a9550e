/** One approved template, filled in, for one person on WhatsApp. */
export interface WhatsappMessage {
  /** The same at every try; the carrier gives it back with every report. */
  reference: string
  /** E.164. */
  to: string
  /** As the carrier knows it. */
  template: string
  language: string
  header: readonly TemplateParameter[]
  body: readonly TemplateParameter[]
  /** What completes the addresses of link buttons. */
  buttons: readonly { index: number; suffix: string }[]
  /** What only the recipient may know of it. */
  secrets?: readonly string[]
}

export interface TemplateParameter {
  /** null: known by its place. */
  name: string | null
  text: string
}
