import type { Json } from '../../domain/evidence/canonical-json.js'
import type { JsonObject } from '../../domain/notification.js'
import { LINK_PLACEHOLDER, type LinkTarget, linkBase, linkStandsAlone } from '../../domain/recipient/link.js'
import type { Scope } from '../../domain/scope.js'
import type { Claim } from '../../store/delivery/claims.js'
import type { Refused } from '../channel-runtime.js'
import { LINK_NOT_ALONE, type Rendering, refusedFor, templateReason } from '../rendering.js'
import { whatsapp } from './channel.js'
import { readEach, readParameters, readTemplatePlan, type TemplatePlan } from './template-plan.js'
import type { WhatsappMessage } from './whatsapp-message.js'

interface WhatsappParts {
  rendering: Rendering
  /** The code of the link to the notification, the same at every attempt. */
  shortLink(target: LinkTarget): Promise<string>
  publicUrl: string
  /** Shows the text of a template of ours to the simulated carrier, which has none of its own; absent: the carrier is real. */
  showText?(reference: string, text: string): Promise<void>
  /** Whether the sender may no longer use the template. */
  isRetired(sender: Scope, name: string): Promise<boolean>
}

/** Meta's own rule for the names of templates. */
const CARRIER_NAME = /^[a-z0-9_]{1,512}$/

const HEADER = 'cabecalho.'

type Draft = Omit<WhatsappMessage, 'reference' | 'to' | 'buttons'> & { linkButton: number | null; text: string | null }

/** Makes the message of a claimed WhatsApp delivery: the approved template with its parameters. */
export function createWhatsappPreparation(parts: WhatsappParts) {
  return async (claim: Claim): Promise<WhatsappMessage | Refused> => {
    if (claim.suppressed) return refusedFor('O destinatário não aceita mensagens desta conta pelo WhatsApp.')
    const { template: _, ...values } = (claim.request.variables ?? {}) as JsonObject
    // Made once, and only for a message that shows the link, because a code takes a row.
    let link: Promise<string> | undefined
    const linkCode = (): Promise<string> => {
      link ??= parts.shortLink({ notification: claim.notification, channel: claim.channel })
      return link
    }
    const base = linkBase(claim.settings, parts.publicUrl)
    const fill = (given: JsonObject): Promise<JsonObject> => fillLinks(given, async () => `${base}/s/${await linkCode()}`)
    const draft =
      claim.template === null ? await draftForeign(claim, await fill(values), parts) : await draftOwn(claim, values, parts, fill)
    if ('refused' in draft) return draft
    const { linkButton, text, ...message } = draft
    if (text !== null) await parts.showText?.(claim.reference, ((await fill({ text })) as { text: string }).text)
    const buttons = linkButton === null ? [] : [{ index: linkButton, suffix: await linkCode() }]
    const secrets = link === undefined ? [] : [await link]
    return { ...message, reference: claim.reference, to: claim.recipient!, buttons, secrets }
  }
}

/** A template of this gateway: its declared variables, in their order, are the parameters of the approved template. */
async function draftOwn(
  claim: Claim,
  given: JsonObject,
  { rendering }: WhatsappParts,
  fill: (given: JsonObject) => Promise<JsonObject>,
): Promise<Draft | Refused> {
  const rendered = await rendering(claim, given)
  if ('refused' in rendered) return rendered
  if (!linkStandsAlone(rendered.text)) return refusedFor(LINK_NOT_ALONE)
  const values = await fill(given)
  const { name, externalId, variables, metadata } = rendered.template
  const template = externalId ?? name
  if (!CARRIER_NAME.test(template))
    return refusedFor(
      `O template "${template}" não tem o nome que a Meta aprovou: informe-o em templateId (letras minúsculas, números e _).`,
    )
  const plan = readTemplatePlan(metadata as JsonObject, 'metadata')
  if (typeof plan === 'string') return refusedFor(plan)
  const names = variables.map(variable => variable.name)
  const unknown = plan.header.find(wanted => !names.includes(wanted))
  if (unknown !== undefined) return refusedFor(`O campo metadata.cabecalho nomeia ${unknown}, que não está em variaveis.`)
  const body = names.filter(variable => !plan.header.includes(variable))
  const naming = { named: plan.named, field: whatsapp.templates.values }
  return assemble(template, plan, readEach(plan.header, values, naming), readEach(body, values, naming), rendered.text)
}

/** A template that only the carrier knows: its parameters are the variables themselves, named, or numbered from 1. */
async function draftForeign(claim: Claim, values: JsonObject, { isRetired }: WhatsappParts): Promise<Draft | Refused> {
  const name = claim.request.template
  const missing = refusedFor(templateReason(claim, whatsapp.templates.member))
  if (typeof name !== 'string' || name === '') return missing
  // A template that was deactivated here must not be sent under the carrier's name.
  if (!CARRIER_NAME.test(name) || (await isRetired(claim, name))) return missing
  const { idioma, botaoLink, ...others } = values
  const { header: given, rest } = splitHeader(others)
  const plan = readTemplatePlan(
    { ...(idioma === undefined ? {} : { idioma }), ...(botaoLink === undefined ? {} : { botaoLink }) },
    'whatsapp.variables',
  )
  if (typeof plan === 'string') return refusedFor(plan)
  const header = given === undefined ? [] : readParameters(given, 'whatsapp.variables.cabecalho')
  return assemble(name, plan, header, readParameters(rest, 'whatsapp.variables'))
}

/** The header's parameter: `cabecalho`, or `cabecalho.nome` where the approved template names it. */
function splitHeader({ cabecalho, ...others }: JsonObject): { header: Json | undefined; rest: JsonObject } {
  const named = Object.entries(others).filter(([name]) => name.startsWith(HEADER))
  if (named.length === 0) return { header: cabecalho, rest: others }
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !name.startsWith(HEADER)))
  return { header: Object.fromEntries(named.map(([name, value]) => [name.slice(HEADER.length), value])), rest }
}

/** A text in place of parameters is the reason why there are none. */
function assemble(
  template: string,
  { language, linkButton }: TemplatePlan,
  header: Draft['header'] | string,
  body: Draft['body'] | string,
  text: string | null = null,
): Draft | Refused {
  if (typeof header === 'string') return refusedFor(header)
  if (typeof body === 'string') return refusedFor(body)
  return { template, language, header, body, linkButton, text }
}

async function fillLinks(values: JsonObject, link: () => Promise<string>): Promise<JsonObject> {
  if (!JSON.stringify(values).includes(LINK_PLACEHOLDER)) return values
  const written = await link()
  const fill = (value: Json): Json => (typeof value === 'string' ? value.replaceAll(LINK_PLACEHOLDER, () => written) : value)
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, fill(value)]))
}
