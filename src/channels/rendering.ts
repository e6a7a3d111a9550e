import { Refusal } from '../domain/errors.js'
import type { JsonObject } from '../domain/notification.js'
import { templateRefusal } from '../domain/template.js'
import { BoundedCache } from '../runtime/bounded-cache.js'
import type { VersionContent } from '../store/accounts/templates.js'
import type { Claim } from '../store/delivery/claims.js'
import type { ChannelModule, Refused } from './channel.js'
import { SendError } from './provider.js'
import type { TemplateRunner } from './template-runner.js'

/** After this time an account's message is prepared again that was in the way of nobody but its own account's. */
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
  // The content of a version never changes, but its name, identifier and metadata do, so entries expire soon.
  const known = new BoundedCache<string, VersionContent>({ maxEntries: 500, ttlMs: 5_000 })
  const versionOf = async ({ id, version }: NonNullable<Claim['template']>): Promise<VersionContent | null> => {
    const key = `${id}.${version}`
    const remembered = known.get(key)
    const content = remembered ?? (await find(id, version))
    if (remembered === undefined && content !== null) known.set(key, content)
    return content
  }
  return async (claim, values) => {
    const template = claim.template === null ? null : await versionOf(claim.template)
    if (template === null) return refusedFor(templateReason(claim))
    const { content, variables } = template
    const result = await runner.render(claim, { html: templates.html, content, variables, values }).catch(postpone)
    return 'fault' in result ? refusedFor(templateRefusal(result).message) : { text: result.text, template }
  }
}

/** The message goes back to the queue, so that it does not occupy a place in its lane while another of its account takes too long. */
function postpone(cause: unknown): never {
  if (!(cause instanceof Refusal)) throw cause
  const reason = 'Outro template desta conta está demorando demais para ser preenchido.'
  throw new SendError('temporary', reason, { retryAfterMs: POSTPONED_MS, scope: 'message', untried: true, cause })
}

export const refusedFor = (reason: string): Refused => ({ refused: { failure: 'rejected', failureDetail: reason, reason } })

function templateReason({ request }: NamesTemplate): string {
  const named = request.template
  return typeof named === 'string' && named !== ''
    ? `O template "${named}" não existe, está inativo ou não é deste canal.`
    : 'Falta indicar o template deste canal.'
}
