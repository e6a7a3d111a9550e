import { settingsOf } from '../../domain/account.js'
import { sha256 } from '../../domain/evidence.js'
import { makeLinkCode } from '../../domain/link.js'
import type { JsonObject } from '../../domain/notification.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel.js'
import { type Rendering, refusedFor } from '../rendering.js'
import { type Block, countLines } from './blocks.js'
import { letter, letterSettings } from './channel.js'
import type { LetterMessage } from './letter-message.js'
import { addressLines, isObject, readPostalAddress, readSenderAddress } from './postal-address.js'
import { type LetterLayout, layouts, type Sheet } from './sheet.js'
import { type Typesetter, TypesettingError } from './typesetter.js'

export interface LetterParts {
  publicUrl: string
  linkKey: Buffer
  render: Rendering
  typesetter: Typesetter
  find(notification: string, ordinal: number): Promise<Printed | null>
  /** Resolves once it is committed. */
  keep(notification: string, ordinal: number, letter: MadeLetter): Promise<void>
}

type Printed = Pick<LetterMessage, 'pdf' | 'sha256' | 'pages'>
export type MadeLetter = Printed & { sheet: Sheet }

/** The typesetter takes seconds for so many. */
const MAX_CHARACTERS = 100_000
const MAX_PAGES = 40
/** No page has 60 lines, so a longer letter is refused without typesetting it only to count its pages (measured: 35 s). */
const MAX_LINES = 60 * MAX_PAGES
const longDate = new Intl.DateTimeFormat('pt-BR', { dateStyle: 'long', timeZone: 'America/Sao_Paulo' })

/** Makes a letter from a claim: reads its address, fills in its template, typesets its PDF once and keeps it. */
export function createLetterPreparation(parts: LetterParts) {
  return async (claim: Claim): Promise<LetterMessage | Refused> => {
    if (claim.suppressed) return refusedFor('O destinatário pediu para não receber cartas desta conta.')
    const layout = readLayout(claim.request.model)
    if (layout === null) {
      const known = layouts.join(', ')
      return refusedFor(`O modelo "${String(claim.request.model)}" não existe. Informe em carta.modelo um destes: ${known}.`)
    }
    const read = readPostalAddress(variablesOf(claim))
    if ('problem' in read) return refusedFor(read.problem)
    const recipient = { name: claim.recipient?.trim() || read.name || claim.recipientName, address: read.address }
    const settings = settingsOf(letterSettings, claim.settings)
    const sender = { name: settings['letter.name'] || claim.accountName, address: readSenderAddress(settings['letter.address']) }
    const made = await obtain(parts, claim, { layout, recipient, sender })
    if ('refused' in made) return made
    const { pdf, sha256: hash, pages } = made
    return { reference: claim.reference, layout, subject: claim.subject, recipient, sender, pdf, sha256: hash, pages }
  }
}

type Envelope = Pick<LetterMessage, 'recipient' | 'sender'> & { layout: LetterLayout }

/** Returns the PDF that was made before, if there is one: a new version of the layout must not give one letter two forms. */
async function obtain(parts: LetterParts, claim: Claim, envelope: Envelope): Promise<Printed | Refused> {
  const ordinal = Number(claim.reference.split('.').at(-1))
  const known = await parts.find(claim.notification, ordinal)
  if (known !== null) return known
  const rendered = await parts.render(claim, variablesOf(claim))
  if ('refused' in rendered) return rendered
  const tooLong = (problem: string): Refused =>
    refusedFor(`A carta ${problem}. Reduza o template ou as variáveis em carta.variables.`)
  if (rendered.text.length > MAX_CHARACTERS) return tooLong(`passa do limite de ${MAX_CHARACTERS} caracteres`)
  const blocks = await parts.typesetter.read(rendered.text)
  if (countLines(blocks) > MAX_LINES) return tooLong(`não cabe em ${MAX_PAGES} páginas, o limite`)
  const sheet = makeSheet(claim, envelope, blocks)
  const link = `${parts.publicUrl}/n/${makeLinkCode(parts.linkKey, claim.notification, letter.linkCode)}`
  try {
    const { pdf, pages } = await parts.typesetter.compose(sheet, { for: 'recipient', link })
    if (pages > MAX_PAGES) return tooLong(`tem ${pages} páginas; o limite é de ${MAX_PAGES}`)
    const made = { pdf, pages, sha256: sha256(pdf) }
    await parts.keep(claim.notification, ordinal, { ...made, sheet })
    return made
  } catch (error) {
    if (error instanceof TypesettingError) return refusedFor(explain(error))
    throw error
  }
}

function explain({ missing }: TypesettingError): string {
  if (missing.length === 0)
    return 'O conteúdo da carta não pôde ser composto em PDF. Simplifique o HTML do template: parágrafos, listas e tabelas simples.'
  const named = missing.map(letter => `${letter} (U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')})`)
  return `A carta tem letras que não podem ser impressas: ${named.join(', ')}. Escreva-as em letras latinas.`
}

function makeSheet(claim: Claim, envelope: Envelope, blocks: Block[]): Sheet {
  const { layout, recipient, sender } = envelope
  return {
    layout,
    reference: claim.notification,
    sender: {
      name: sender.name,
      lines: sender.address === null ? [] : addressLines(sender.address),
      color: settingsOf(letterSettings, claim.settings)['letter.color'],
    },
    recipient: { name: recipient.name, lines: addressLines(recipient.address) },
    // The moment of acceptance: a letter that is made again is the same letter.
    date: longDate.format(claim.acceptedAt),
    moment: Math.floor(claim.acceptedAt.getTime() / 1_000),
    subject: claim.subject,
    blocks,
  }
}

const variablesOf = ({ request: { variables } }: Claim): JsonObject => (isObject(variables) ? variables : {})

/** The default is registered, because most letters are legal notices. */
function readLayout(model: unknown): LetterLayout | null {
  const name = typeof model === 'string' ? model.trim().toLowerCase() : ''
  return name === '' ? 'registrada' : (layouts.find(layout => layout === name) ?? null)
}
