import type { FastifyInstance } from 'fastify'
import { brandSample } from '../../../channels/brand-sample.js'
import type { BrandSampler, ShownBrand } from '../../../channels/channel.js'
import { channelModules, channels, findModule } from '../../../channels/registry.js'
import { completeSettings, type StoredSettings } from '../../../domain/account.js'
import { refuse } from '../../../domain/errors.js'
import { findAccountLogo } from '../../../store/accounts/accounts.js'
import type { Pool } from '../../../store/postgres.js'
import { landingPage } from '../../recipient/entry-pages.js'
import { sendPage } from '../../recipient/layout.js'
import { everyone, requireVisible, route } from '../route.js'
import { sampleQuery } from './accounts-schema.js'
import { readSettings } from './read-settings.js'

/** The recipient's page belongs to no channel. */
const PAGE = { name: 'pagina', label: 'página' }
export const sampleNames = [
  PAGE,
  ...channelModules.filter(module => module.brandSampler !== undefined).map(({ wire, label }) => ({ name: wire, label })),
]

/** Styles inside the document, pictures of ours, and nothing that runs. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'self'; sandbox"

interface Sample {
  Params: { id: string; sample: string }
  Querystring: { draft?: string }
}

/**
 * GET …/samples/:sample: an account's page or message with settings that may not be saved yet. Documents of their own and not markup
 * in ours: messages carry styles, which the policy of our pages forbids.
 */
export function addBrandSamples(app: FastifyInstance, { pool, publicUrl }: { pool: Pool; publicUrl(): string }): void {
  const samplers = new Map<string, Promise<BrandSampler>>()
  app.addHook('onClose', async () => {
    for (const sampler of samplers.values()) await (await sampler).close?.()
  })

  app.get<Sample>(
    '/console/api/accounts/:id/samples/:sample',
    { ...route(everyone, { querystring: sampleQuery }), exposeHeadRoute: false },
    async (request, reply) => {
      const { name: accountName, id, settings: saved } = await requireVisible(pool, request)
      const settings = completeSettings({ ...saved, ...readDraft(request.query.draft) })
      const logo = await findAccountLogo(pool, id)
      const brand: ShownBrand = { accountName, settings, logo, publicUrl: publicUrl() }
      const { sample } = request.params
      if (sample === PAGE.name) return sendPage(reply, 200, samplePage(brand), true)
      const open = findModule(sample)?.brandSampler ?? refuse('previewMissing')
      const sampler = samplers.get(sample) ?? open()
      samplers.set(sample, sampler)
      const { type, body } = await (await sampler).show(brand)
      // The viewer of a browser for other files needs more than a sandbox gives; they run nothing of ours.
      if (type.startsWith('text/html')) reply.header('content-security-policy', POLICY)
      return reply
        .type(type)
        .header('x-frame-options', 'SAMEORIGIN')
        .send(typeof body === 'string' ? body : Buffer.from(body))
    },
  )
}

function readDraft(draft = '{}'): StoredSettings {
  let read: unknown
  try {
    read = JSON.parse(draft)
  } catch {
    read = null
  }
  if (typeof read !== 'object' || read === null || Object.values(read).some(value => typeof value !== 'string'))
    return refuse('wrongParameter', 'draft')
  return readSettings(read as Record<string, string>)
}

function samplePage({ accountName, settings, logo, publicUrl }: ShownBrand) {
  const { subject, recipientName, path } = brandSample
  const visited = {
    target: { notification: '00000000-0000-7000-8000-000000000000', channel: channels[0]! },
    accountName,
    settings,
    logo: logo?.sha256 ?? null,
    subject,
    recipientName,
    recipient: null,
    validation: null,
    acceptedAt: new Date(),
    state: 'done' as const,
    sentAt: null,
    linkOpenedAt: null,
    confirmedAt: null,
    confirmedBy: null,
    failure: null,
    files: [],
  }
  return landingPage({ visited, path, stamp: '' }, new URL(settings['link.domain'] || publicUrl).host)
}
