import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import type { Channel } from '../domain/channel.js'
import { OperatorError } from '../domain/errors.js'
import { readId } from '../domain/id.js'
import { createTemplate, editTemplate, requireTemplate, type TemplateEdit } from '../engine/templates.js'
import { listTemplates, type Template } from '../store/accounts/templates.js'
import { type Administration, audit, requireAccount, withDatabase } from './administration.js'
import { channelOption } from './channel-option.js'
import { type OutputOptions, print, printList, printRecord } from './output.js'

type Options = OutputOptions & { account: string }

export function templateCommand(): Command {
  const template = new Command('template').description('templates: criar, listar, ver, editar, ativar e desativar')

  const verb = (name: string, description: string): Command =>
    template
      .command(name)
      .description(description)
      .requiredOption('--account <conta>', 'nome ou id da conta')
      .option('--json', 'resultado em JSON')

  verb('create', 'cria um template')
    .requiredOption('--name <nome>', 'nome do template')
    .addOption(channelOption('canal').makeOptionMandatory())
    .requiredOption('--file <arquivo>', 'arquivo com o conteúdo em Liquid (- para a entrada padrão)')
    .option('--template-id <id>', 'identificador próprio, seu ou da operadora')
    .option('--shared', 'compartilha com a entidade')
    .action((options: Options & { name: string; channel: Channel; file: string; templateId?: string; shared?: boolean }) =>
      forAccount(options, async ({ pool }, account) => {
        const created = await createTemplate(
          pool,
          account,
          {
            name: options.name,
            channel: options.channel,
            content: readContent(options.file),
            variables: null,
            externalId: options.templateId ?? null,
            shared: options.shared ?? false,
            metadata: {},
          },
          Date.now(),
        )
        await audit(pool, 'template create', created.id)
        printRecord(describe(created), options)
      }),
    )

  verb('list', 'lista os templates próprios e os compartilhados')
    .addOption(channelOption('só de um canal'))
    .action((options: Options & { channel?: Channel }) =>
      forAccount(options, async ({ pool }, account) =>
        printList((await listTemplates(pool, account, options.channel ?? null)).map(describe), options),
      ),
    )

  verb('show', 'mostra o conteúdo de um template')
    .argument('<id>', 'identificador público (UUID)')
    .option('--revision <n>', 'uma versão anterior')
    .action((id: string, options: Options & { revision?: string }) =>
      forAccount(options, async ({ pool }, account) => {
        const revision = options.revision === undefined ? null : Number(options.revision)
        if (revision !== null && !Number.isInteger(revision)) throw new OperatorError('--revision deve ser um número de versão.')
        const found = await requireTemplate(pool, account, requireId(id), revision)
        if (options.json) printRecord({ ...describe(found), content: found.content, variables: found.variables }, options)
        else print(found.content)
      }),
    )

  verb('edit', 'muda nome, conteúdo ou compartilhamento; conteúdo novo é uma nova versão')
    .argument('<id>', 'identificador público (UUID)')
    .option('--name <nome>', 'novo nome')
    .option('--file <arquivo>', 'arquivo com o novo conteúdo (- para a entrada padrão)')
    .option('--shared', 'compartilha com a entidade')
    .option('--no-shared', 'deixa de compartilhar')
    .action((id: string, options: Options & { name?: string; file?: string; shared?: boolean }) => {
      const edit: TemplateEdit = {
        ...(options.name === undefined ? {} : { name: options.name }),
        ...(options.file === undefined ? {} : { content: readContent(options.file) }),
        ...(options.shared === undefined ? {} : { shared: options.shared }),
      }
      if (Object.keys(edit).length === 0)
        throw new OperatorError('Nada a mudar: informe --name, --file, --shared ou --no-shared.')
      return change(id, options, edit)
    })

  for (const [name, active, description] of [
    ['activate', true, 'ativa um template'],
    ['deactivate', false, 'desativa um template'],
  ] as const) {
    verb(name, description)
      .argument('<id>', 'identificador público (UUID)')
      .action((id: string, options: Options) => change(id, options, { active }))
  }

  return template
}

const change = (id: string, options: Options, edit: TemplateEdit): Promise<void> =>
  forAccount(options, async ({ pool }, account) => {
    const edited = await editTemplate(pool, account, requireId(id), edit)
    await audit(pool, 'template edit', edited.id, { fields: Object.keys(edit) })
    printRecord(describe(edited), options)
  })

const forAccount = (options: Options, work: (administration: Administration, account: string) => Promise<void>): Promise<void> =>
  withDatabase(async administration => work(administration, (await requireAccount(administration.pool, options.account)).id))

const describe = ({ id, name, channel, externalId, version, active, shared }: Template) => ({
  id,
  name,
  channel,
  templateId: externalId,
  version,
  active,
  shared,
})

function requireId(text: string): string {
  const id = readId(text)
  if (id === null)
    throw new OperatorError('O identificador deve ser um UUID. Veja os templates com: carteiro template list --account CONTA')
  return id
}

function readContent(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler ${file}.`, { cause })
  }
}
