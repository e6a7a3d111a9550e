import type { JsonObject } from '../domain/notification.js'
import { renderTemplate, templateRefusal } from '../domain/template.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import type { VersionContent } from '../store/accounts/templates.js'
import type { Claim } from '../store/delivery/claims.js'
import type { ChannelModule, Refused } from './channel.js'

/** Fills in the template that a delivery names, in the version that was current when it was accepted. */
export type Rendering = (named: NamesTemplate, values: JsonObject) => Promise<Rendered | Refused>

/** All that is needed of a delivery to find its template. */
type NamesTemplate = Pick<Claim, 'template' | 'request'>

interface Rendered {
  text: string
  template: VersionContent
}

/** Versions never change; what stands beside them (name, identifier, metadata) does, and is looked at again. */
const REMEMBERED = 500
const REMEMBERED_MS = 5_000

export function createRendering(
  { templates }: Pick<ChannelModule, 'templates'>,
  find: (id: string, version: number) => Promise<VersionContent | null>,
): Rendering {
  const known = new BoundedCache<string, VersionContent>({ maxEntries: REMEMBERED, ttlMs: REMEMBERED_MS })
  const versionOf = async ({ id, version }: NonNullable<Claim['template']>): Promise<VersionContent | null> => {
    const key = `${id}.${version}`
    const remembered = known.get(key)
    if (remembered !== undefined) return remembered
    const content = await find(id, version)
    if (content === null) return null
    known.set(key, content)
    return content
  }
  return async (claim, values) => {
    const template = claim.template === null ? null : await versionOf(claim.template)
    if (template === null) return refusedFor(templateReason(claim))
    const result = renderTemplate(templates.html, template.content, template.variables, values)
    return 'fault' in result ? refusedFor(templateRefusal(result).message) : { text: result.text, template }
  }
}

export const refusedFor = (reason: string): Refused => ({ refused: { failure: 'rejected', failureDetail: reason, reason } })

function templateReason({ request }: NamesTemplate): string {
  const named = request.template
  return typeof named === 'string' && named !== ''
    ? `O template "${named}" não existe, está inativo ou não é deste canal.`
    : 'Falta indicar o template deste canal.'
}
