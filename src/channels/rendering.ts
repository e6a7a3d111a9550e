import { Refusal } from '../domain/errors.js'
import type { JsonObject } from '../domain/notification.js'
import { LINK_PLACEHOLDER } from '../domain/recipient/link.js'
import { templateRefusal } from '../domain/send/template.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import type { VersionContent } from '../store/accounts/templates.js'
import type { Claim, ClaimedTemplate } from '../store/delivery/claims.js'
import type { ChannelModule } from './channel.js'
import type { Refused } from './channel-runtime.js'
import { SendError } from './provider.js'
import type { TemplateRunner } from './template-runner.js'

/** When a message is prepared again that was postponed because another template of its account took too long. */
const POSTPONED_MS = 30_000

/** Fills in the template that a delivery names, in the version that was current when it was accepted. */
export type Rendering = (named: NamesTemplate, values: JsonObject) => Promise<Rendered | Refused>

type NamesTemplate = Pick<Claim, 'account' | 'mode' | 'template' | 'request'>
type Rendered = { text: string; template: VersionContent }

export function createRendering(
  { templates }: Pick<ChannelModule, 'templates'>,
  runner: TemplateRunner,
  find: (id: string, version: number) => Promise<VersionContent | null>,
): Rendering {
  const known = new BoundedCache<string, VersionContent>({ maxEntries: 500 })
  const versionOf = async ({ id, version, editedAt }: ClaimedTemplate): Promise<VersionContent | null> => {
    const key = `${id}.${version}.${editedAt}`
    const remembered = known.get(key)
    const content = remembered ?? (await find(id, version))
    if (remembered === undefined && content !== null) known.set(key, content)
    return content
  }
  return async (claim, values) => {
    const template = claim.template === null ? null : await versionOf(claim.template)
    if (template === null) return refusedFor(templateReason(claim, templates.member))
    const { content, variables } = template
    const result = await runner.render(claim, { html: templates.html, content, variables, values }).catch(postpone)
    if ('fault' in result) return refusedFor(templateRefusal(result, templates.values).message)
    if (!templates.link && result.text.includes(LINK_PLACEHOLDER))
      return refusedFor(`O texto tem {SHORT_LINK}, que não existe neste canal. Retire-o do template e de ${templates.values}.`)
    return { text: result.text, template }
  }
}

/** The message goes back to the queue, so that it does not occupy a place in its lane while another of its account takes too long. */
function postpone(cause: unknown): never {
  if (!(cause instanceof Refusal)) throw cause
  const reason = 'Outro template desta conta está demorando demais para ser preenchido.'
  throw new SendError('temporary', reason, { retryAfterMs: POSTPONED_MS, scope: 'message', untried: true, cause })
}

/** The refusal of a filled-in text. A link inside a longer address would give its code to the owner of that address. */
export const LINK_NOT_ALONE =
  'No texto do template, o link da notificação ficaria encostado em outro texto. Ponha um espaço de cada lado da variável que o leva.'

export const refusedFor = (reason: string): Refused => ({ refused: { failure: 'rejected', failureDetail: reason, reason } })

/** `member`: the member of the send request that names the template. */
export function templateReason({ request }: Pick<Claim, 'request'>, member: string): string {
  const named = request.template
  return typeof named === 'string' && named !== ''
    ? `O template "${named}" (${member}) não existe, está inativo ou não é deste canal.`
    : `Falta indicar o template deste canal: informe ${member}.`
}
