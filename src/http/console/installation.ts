import type { FastifyInstance } from 'fastify'
import { channelModules } from '../../channels/registry.js'
import type { Pool } from '../../store/postgres.js'
import { type Installation, installationSchema } from './installation-schema.js'
import { everyone, route, visibleAccounts } from './route.js'

export interface InstallationOptions {
  pool: Pool
  publicUrl(): string
  hasCarriers: boolean
  /** Where the simulator's page is; null: there is none, or real carriers are configured. */
  simulatorUrl: string | null
  version: string
}

/** GET /console/api/installation: who is signed in, and what there is to choose from. */
export function addInstallation(app: FastifyInstance, options: InstallationOptions): void {
  const { pool, hasCarriers, simulatorUrl, version } = options
  app.get(
    '/console/api/installation',
    route(everyone, { response: { 200: installationSchema } }),
    async ({ operator }): Promise<Installation> => {
      const { id, name, email, role } = operator
      const accounts = await visibleAccounts(pool, operator)
      return {
        operator: { id, name, email, role },
        accounts: accounts.map(account => ({ id: account.id, name: account.name })),
        channels: channelModules.map(({ wire, label, look, templates: { metadata = [] } }) => ({
          name: wire,
          label,
          ...look,
          templateFields: metadata.map(({ choices, ...field }) => ({ ...field, ...(choices ? { choices: [...choices] } : {}) })),
        })),
        publicUrl: options.publicUrl(),
        hasCarriers,
        simulatorUrl,
        version,
      }
    },
  )
}
