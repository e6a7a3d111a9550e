import { settingsOf } from '../../domain/account.js'
import type { Json } from '../../domain/evidence/canonical-json.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { JsonObject } from '../../domain/notification.js'
import { type LinkTarget, linkBase, makeLinkCode, typedLink } from '../../domain/recipient/link.js'
import { brandName, senderLines } from '../../domain/send/sender.js'
import { type Block, countLines } from '../../runtime/typesetting/blocks.js'
import { TypesettingError } from '../../runtime/typesetting/typesetter.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel-runtime.js'
import { type Rendering, refusedFor } from '../rendering.js'
import { letter, letterSettings } from './channel.js'
import type { LetterMessage } from './letter-message.js'
import { addressLines, isObject, readPostalAddress, readSenderAddress } from './postal-address.js'
import { type LetterLayout, layouts, type Sheet, type SheetCopy, type SheetLogo } from './sheet.js'
import type { Typesetter } from './typesetter.js'

export interface LetterParts {
  publicUrl: string
  linkKey: Buffer
  shortLink(target: LinkTarget): Promise<string>
  render: Rendering
  typesetter: Typesetter
  readContent(notification: string): Promise<string | null>
  /** The logo that the account has now. */
  findLogo(account: string): Promise<PrintableLogo | null>
  /** Told of a logo that cannot be printed. */
  warn(details: object, message: string): void
  find(notification: string, ordinal: number): Promise<Printed | null>
  /** Resolves once it is committed. */
  keep(notification: string, ordinal: number, letter: MadeLetter): Promise<void>
}

type Printed = Pick<LetterMessage, 'pdf' | 'sha256' | 'pages' | 'sheet'>
export interface PrintableLogo {
  name: SheetLogo
  bytes: Uint8Array
}
export type MadeLetter = Printed

/** The names of the types that the typesetter reads. */
const LOGO_TYPES: Readonly<Record<string, SheetLogo['type']>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
}

/** null: there is none, or none that can be printed. */
export function printableLogo(logo: { sha256: string; type: string; bytes: Uint8Array } | null): PrintableLogo | null {
  const type = logo === null ? undefined : LOGO_TYPES[logo.type]
  return type === undefined ? null : { name: { sha256: logo!.sha256, type }, bytes: logo!.bytes }
}

/** The typesetter needs seconds for a letter of this length. */
const MAX_CHARACTERS = 100_000
const MAX_PAGES = 40
/** No page has 60 lines, so a longer letter is refused without typesetting it only to count its pages (measured: 35 s). */
const MAX_LINES = 60 * MAX_PAGES
/** The colour in letters of accounts without brand.color. */
const DEFAULT_COLOR = '#1f3a5f'
const longDate = new Intl.DateTimeFormat('pt-BR', { dateStyle: 'long', timeZone: 'America/Sao_Paulo' })

/** Makes a letter from a claim: reads its address, fills in its template, typesets its PDF once and keeps it. */
export function createLetterPreparation(parts: LetterParts) {
  return async (claim: Claim): Promise<LetterMessage | Refused> => {
    if (claim.suppressed) return refusedFor('O destinatário pediu para não receber cartas desta conta.')
    const layout = readLayout(claim.request.model)
    if (layout === null) {
      const known = [...layouts, 'padrao'].join(', ')
      return refusedFor(`O modelo "${String(claim.request.model)}" não existe. Informe em carta.modelo um destes: ${known}.`)
    }
    const read = readPostalAddress(variablesOf(claim))
    if ('problem' in read) return refusedFor(read.problem)
    const recipient = { name: claim.recipient?.trim() || read.name || claim.recipientName, address: read.address }
    const sender = senderOf(claim)
    const made = await obtain(parts, claim, { layout, recipient, sender })
    if ('refused' in made) return made
    return { reference: claim.reference, layout, subject: claim.subject, recipient, sender, ...made }
  }
}

export function senderOf({ settings, accountName }: Pick<Claim, 'settings' | 'accountName'>): LetterMessage['sender'] {
  const own = settingsOf(letterSettings, settings)
  return { name: own['letter.name'] || brandName(settings, accountName), address: readSenderAddress(own['letter.address']) }
}

type Envelope = Pick<LetterMessage, 'recipient' | 'sender'> & { layout: LetterLayout }

/** Returns the PDF that was made before, if there is one: a new version of the layout must not give one letter two forms. */
async function obtain(parts: LetterParts, claim: Claim, envelope: Envelope): Promise<Printed | Refused> {
  const { ordinal } = claim
  const known = await parts.find(claim.notification, ordinal)
  if (known !== null) return known
  const written = await writeText(parts, claim)
  if ('refused' in written) return written
  const { text, cure } = written
  const tooLong = (problem: string): Refused => refusedFor(`A carta ${problem}. ${cure}`)
  if (text.length > MAX_CHARACTERS) return tooLong(`passa do limite de ${MAX_CHARACTERS} caracteres`)
  const blocks = await parts.typesetter.read(text)
  if (countLines(blocks) > MAX_LINES) return tooLong(`não cabe em ${MAX_PAGES} páginas, o limite`)
  const logo = await parts.findLogo(claim.account)
  const sheet = makeSheet(claim, envelope, blocks, logo?.name ?? null)
  const copy = await recipientCopy(parts, claim)
  try {
    const { pdf, pages, logoFault } = await parts.typesetter.compose(sheet, copy, logo?.bytes)
    if (logoFault !== null) {
      parts.warn(
        { account: claim.accountName, fault: logoFault },
        'the logo cannot be printed on letters: change it (account logo)',
      )
    }
    if (pages > MAX_PAGES) return tooLong(`tem ${pages} páginas; o limite é de ${MAX_PAGES}`)
    const made = { pdf, pages, sha256: sha256(pdf), sheet: JSON.parse(JSON.stringify(sheet)) as Json }
    await parts.keep(claim.notification, ordinal, made)
    return made
  } catch (error) {
    if (error instanceof TypesettingError) return refusedFor(explain(error))
    throw error
  }
}

/** Both ways to the recipient's page: the QR code, and the short code for whoever has no camera. */
async function recipientCopy(parts: LetterParts, { notification, channel, settings }: Claim): Promise<SheetCopy> {
  const base = linkBase(settings, parts.publicUrl)
  const link = `${base}/n/${makeLinkCode(parts.linkKey, notification, letter.linkCode)}`
  return { for: 'recipient', link, typed: typedLink(base, await parts.shortLink({ notification, channel })) }
}

/** The template that the request names, filled in; without one, the content of the notification. `cure`: what to do if it is too long. */
async function writeText({ render, readContent }: LetterParts, claim: Claim): Promise<{ text: string; cure: string } | Refused> {
  if (claim.request.template) {
    const rendered = await render(claim, variablesOf(claim))
    if ('refused' in rendered) return rendered
    return { text: rendered.text, cure: 'Reduza o template ou as variáveis em carta.variables.' }
  }
  const cure = 'Reduza o conteúdo em content.'
  // Whoever opens the envelope has answered no question.
  if (claim.protected) return { text: PROTECTED_NOTICE, cure }
  const text = claim.content ?? (await readContent(claim.notification))
  if (text === null) throw new Error('the content of the notification is gone')
  return { text, cure }
}

const PROTECTED_NOTICE =
  '<p>Há uma notificação para você, protegida por uma pergunta. Abra o endereço impresso nesta carta e responda para ler o conteúdo.</p>'

function explain({ missing }: TypesettingError): string {
  if (missing.length === 0)
    return 'O conteúdo da carta não pôde ser composto em PDF. Simplifique o HTML do template, ou de content: parágrafos, listas e tabelas simples.'
  const named = missing.map(letter => `${letter} (U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')})`)
  return `A carta tem letras que não podem ser impressas: ${named.join(', ')}. Escreva-as em letras latinas.`
}

type SheetClaim = Pick<Claim, 'notification' | 'settings' | 'acceptedAt' | 'subject'>

export function makeSheet(claim: SheetClaim, envelope: Envelope, blocks: Block[], logo: SheetLogo | null): Sheet {
  const { layout, recipient, sender } = envelope
  return {
    edition: 2,
    layout,
    reference: claim.notification,
    sender: {
      name: sender.name,
      lines: sender.address === null ? [] : addressLines(sender.address),
      // The name under which the sender is registered; whoever has not stated it is known by the other one.
      details: senderLines({ ...claim.settings, 'sender.legalName': claim.settings['sender.legalName'] || sender.name }),
      color: claim.settings['brand.color'] || DEFAULT_COLOR,
      logo,
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

/** Without a name, the default one; `padrao` names it too. */
function readLayout(model: unknown): LetterLayout | null {
  const name = typeof model === 'string' ? model.trim().toLowerCase() : ''
  return name === '' || name === 'padrao' || name === 'padrão' ? 'simples' : (layouts.find(layout => layout === name) ?? null)
}
