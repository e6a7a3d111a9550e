import type { FastifyInstance } from 'fastify'
import { accountSettings } from '../../../channels/account-settings.js'
import { type SettingValue, settingsOf } from '../../../domain/account.js'
import { readAccountName, readEntityName } from '../../../domain/account-name.js'
import { refuse } from '../../../domain/errors.js'
import { newId } from '../../../domain/id.js'
import { findLogoProblem, logoPath, logoType } from '../../../domain/send/logo.js'
import { actorOf } from '../../../engine/console/sign-in.js'
import {
  type Account,
  findAccountLogo,
  insertAccount,
  listAccounts,
  removeLogo,
  saveLogo,
  updateSettings,
} from '../../../store/accounts/accounts.js'
import { recordAudit } from '../../../store/audit.js'
import { type Pool, transaction } from '../../../store/postgres.js'
import { everyone, operatorsOnly, requireVisible, route } from '../route.js'
import { done } from '../wire.js'
import {
  type AccountDetails,
  type Accounts,
  accountSchema,
  accountsSchema,
  type ChangeLogo,
  type ChangeSettings,
  changeLogoSchema,
  changeSettingsSchema,
  type NewAccount,
  newAccountSchema,
} from './accounts-schema.js'
import { sampleNames } from './brand-samples.js'
import { readSettings } from './read-settings.js'

interface ById {
  Params: { id: string }
}

/** Accounts: who they are to recipients, and how they send. */
export function addAccounts(app: FastifyInstance, { pool }: { pool: Pool }): void {
  app.get(
    '/console/api/accounts',
    route(everyone, { response: { 200: accountsSchema } }),
    async ({ operator }): Promise<Accounts> => {
      const { account } = operator
      const seen =
        account === null ? await listAccounts(pool) : [await requireVisible(pool, { operator, params: { id: account } })]
      return { rows: seen.map(toRow) }
    },
  )

  app.post<{ Body: NewAccount }>(
    '/console/api/accounts',
    route(operatorsOnly, { body: newAccountSchema }),
    async ({ operator, body }): Promise<{ id: string }> => {
      const name = readAccountName(body.name, 'name')
      const entityName = readEntityName(body.entity, name, 'entity')
      const id = newId(Date.now())
      await transaction(pool, async db => {
        const isNew = await insertAccount(db, { id, name, entityId: newId(Date.now()), entityName, settings: {} })
        if (!isNew) refuse('accountNameTaken', name)
        await recordAudit(db, { actor: actorOf(operator), action: 'account create', subject: id, detail: { name } })
      })
      return { id }
    },
  )

  app.get<ById>(
    '/console/api/accounts/:id',
    route(everyone, { response: { 200: accountSchema } }),
    async (request): Promise<AccountDetails> => {
      const account = await requireVisible(pool, request)
      const logo = await findAccountLogo(pool, account.id)
      return {
        ...toRow(account),
        logo: logo && logoPath(logo.sha256),
        settings: describeSettings(account),
        samples: sampleNames,
      }
    },
  )

  app.put<ById & { Body: ChangeSettings }>(
    '/console/api/accounts/:id/settings',
    route(operatorsOnly, { body: changeSettingsSchema, response: { 200: done } }),
    async request => {
      const { id } = await requireVisible(pool, request)
      const changes = readSettings(request.body.changes)
      await transaction(pool, async db => {
        await updateSettings(db, id, changes)
        await recordAudit(db, { actor: actorOf(request.operator), action: 'account set', subject: id, detail: changes })
      })
      return { done: true }
    },
  )

  app.put<ById & { Body: ChangeLogo }>(
    '/console/api/accounts/:id/logo',
    route(operatorsOnly, { body: changeLogoSchema, response: { 200: done } }),
    async request => {
      const { id } = await requireVisible(pool, request)
      const bytes = Buffer.from(request.body.data, 'base64')
      const problem = findLogoProblem(bytes)
      if (problem !== null) refuse('badLogo', problem.replace(/\.$/, ''))
      await transaction(pool, async db => {
        const sha256 = await saveLogo(db, id, { type: logoType(bytes)!, bytes })
        await recordAudit(db, { actor: actorOf(request.operator), action: 'account logo', subject: id, detail: { sha256 } })
      })
      return { done: true }
    },
  )

  app.delete<ById>('/console/api/accounts/:id/logo', route(operatorsOnly, { response: { 200: done } }), async request => {
    const { id } = await requireVisible(pool, request)
    await transaction(pool, async db => {
      await removeLogo(db, id)
      await recordAudit(db, { actor: actorOf(request.operator), action: 'account logo', subject: id, detail: { sha256: null } })
    })
    return { done: true }
  })
}

const toRow = ({ id, name, entity, createdAt }: Account) => ({
  id,
  name,
  entity: entity.name,
  createdAt: createdAt.toISOString(),
})

const KINDS = { string: 'text', number: 'number', boolean: 'switch' } as const

function describeSettings({ settings }: Account): AccountDetails['settings'] {
  const values = settingsOf<Record<string, SettingValue>>(accountSettings, settings)
  return Object.entries(accountSettings).map(([name, setting]) => ({
    name,
    kind: KINDS[typeof setting.default as keyof typeof KINDS],
    label: setting.label,
    value: String(values[name]),
    isDefault: values[name] === setting.default,
    meaning: setting.meaning,
    choices: [...(setting.choices ?? [])],
  }))
}
