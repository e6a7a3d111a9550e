import { Command } from 'commander'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import type { Scope } from '../../domain/scope.js'
import { neutralWordingWarnings } from '../../domain/send/neutral-wording.js'
import { checkTemplate } from '../../domain/send/template.js'
import { createTemplate, editTemplate, requireTemplate, type TemplateEdit, type TemplateParts } from '../../engine/templates.js'
import { listTemplates, type Template } from '../../store/accounts/templates.js'
import type { Pool } from '../../store/postgres.js'
import { audit, runForScope } from '../administration.js'
import { addScopeVerb, channelOption, idReader, requireChanges, required, type ScopeOptions } from '../options.js'
import { readText } from '../text-file.js'

const readTemplateId = idReader('O identificador deve ser um UUID. Veja os templates com: carteiro template list --account CONTA')

const readRevision = (text: string): number =>
  required(/^[1-9]\d{0,8}$/.test(text) ? Number(text) : null, '--revision deve ser um número inteiro de 1 a 999999999.')

export function templateCommand(): Command {
  const template = new Command('template').description('templates: criar, listar, ver, editar, ativar e desativar')
  const addIdVerb = (name: string, description: string): Command =>
    addScopeVerb(template, name, description).argument('<id>', 'identificador público (UUID)', readTemplateId)

  addScopeVerb(template, 'create', 'cria um template')
    .requiredOption('--name <nome>', 'nome do template')
    .addOption(channelOption('canal').makeOptionMandatory())
    .requiredOption('--file <arquivo>', 'arquivo com o conteúdo em Liquid (- para a entrada padrão)')
    .option('--template-id <id>', 'identificador próprio, seu ou da operadora')
    .option('--shared', 'compartilha com a entidade')
    .action((options: ScopeOptions & { name: string; channel: Channel; file: string; templateId?: string; shared?: boolean }) =>
      runForScope(options, async ({ pool }, scope) => {
        const { name, channel, file, templateId, shared = false } = options
        const externalId = templateId?.trim() || null
        const draft = { name, channel, content: await readText(file), variables: null, externalId, shared, metadata: {} }
        return withWarnings(await createTemplate(partsOf(pool, 'create'), scope, draft, Date.now()))
      }),
    )

  addScopeVerb(template, 'list', 'lista os templates próprios e os compartilhados')
    .addOption(channelOption('só de um canal'))
    .action((options: ScopeOptions & { channel?: Channel }) =>
      runForScope(options, async ({ pool }, scope) => [
        await listAll(pool, scope, options.channel ?? null),
        `Nenhum template. Crie um com: carteiro template create --account ${options.account} --name NOME --channel CANAL --file ARQUIVO`,
      ]),
    )

  addIdVerb('show', 'mostra o conteúdo de um template')
    .option('--revision <n>', 'uma versão anterior', readRevision)
    .action((id: string, options: ScopeOptions & { revision?: number }) =>
      runForScope(options, async ({ pool }, scope) => {
        const found = await requireTemplate(pool, scope, id, options.revision ?? null)
        return options.json ? { ...describe(found), content: found.content, variables: found.variables } : found.content
      }),
    )

  addIdVerb('edit', 'muda nome, conteúdo ou compartilhamento; conteúdo novo é uma nova versão')
    .option('--name <nome>', 'novo nome')
    .option('--file <arquivo>', 'arquivo com o novo conteúdo (- para a entrada padrão)')
    .option('--shared', 'compartilha com a entidade')
    .option('--no-shared', 'deixa de compartilhar')
    .action(async (id: string, options: ScopeOptions & { name?: string; file?: string; shared?: boolean }) => {
      const { name, file, shared } = options
      const content = file === undefined ? undefined : await readText(file)
      await edit(id, options, requireChanges({ name, content, shared }, '--name, --file, --shared ou --no-shared'))
    })

  addIdVerb('activate', 'ativa um template').action((id: string, options: ScopeOptions) => edit(id, options, { active: true }))
  addIdVerb('deactivate', 'desativa um template').action((id: string, options: ScopeOptions) =>
    edit(id, options, { active: false }),
  )

  return template
}

const edit = (id: string, options: ScopeOptions, changes: TemplateEdit): Promise<void> =>
  runForScope(options, async ({ pool }, scope) => {
    return withWarnings(await editTemplate(partsOf(pool, 'edit', { fields: Object.keys(changes) }), scope, id, changes))
  })

/** Nobody else waits for this process, so that it needs no thread for the check. */
const partsOf = (pool: Pool, action: 'create' | 'edit', detail = {}): TemplateParts => ({
  pool,
  fields: { name: '--name', content: '--file', externalId: '--template-id' },
  check: (_account, ...content) => checkTemplate(...content),
  onWritten: (db, { id }) => audit(db, `template ${action}`, id, detail),
})

async function listAll(pool: Pool, scope: Scope, channel: Channel | null) {
  const all: ReturnType<typeof describe>[] = []
  for (let after: string | null = null; ; ) {
    const { templates, next } = await listTemplates(pool, scope, channel, { after, limit: 500, bytes: 16_777_216 })
    all.push(...templates.map(describe))
    if (next === null) return all
    after = next
  }
}

function describe({ id, name, mode, channel, externalId, version, active, shared }: Template) {
  return { id, name, mode, channel: moduleOf(channel).wire, templateId: externalId, version, active, shared }
}

function withWarnings(template: Template) {
  const warnings = neutralWordingWarnings(template.content, moduleOf(template.channel).exposed)
  return warnings.length === 0 ? describe(template) : { ...describe(template), warnings: warnings.join(' ') }
}
