import { channelModules, loadContracts } from '../../channels/registry.js'
import type { BulkField, BulkFields } from '../../domain/send/bulk.js'

const core = (path: string, pt: string, en: string, columns: readonly string[], kind: BulkField['kind'] = 'text'): BulkField => ({
  path,
  kind,
  pt,
  en,
  columns,
  sharedColumns: [],
  channel: null,
  required: false,
})

const coreFields: readonly BulkField[] = [
  core('nameTo', 'Nome', 'Name', ['nome', 'nome completo', 'destinatário', 'nome do destinatário', 'cliente', 'devedor', 'name']),
  core('subject', 'Assunto', 'Subject', ['assunto', 'título']),
  core('content', 'Mensagem (HTML)', 'Message (HTML)', ['mensagem', 'conteúdo', 'html', 'corpo'], 'long'),
  core('customID', 'Referência sua (customID)', 'Your reference (customID)', [
    'referência',
    'custom id',
    'identificador',
    'id externo',
  ]),
  core('validation.question', 'Pergunta', 'Question', ['pergunta']),
  core('validation.reply', 'Resposta', 'Answer', ['resposta']),
]

/** What the columns of a file may fill in: the members that all sends have, and those that the channels declare. */
export async function loadBulkFields(): Promise<BulkFields> {
  const contracts = await loadContracts()
  const ofChannels = [...contracts.values()].flatMap(({ part, form }) =>
    form.map(({ path, kind, pt, en, columns = [], sharedColumns = [], required = false }) => ({
      path,
      kind,
      pt,
      en,
      columns,
      sharedColumns,
      channel: part.member,
      required,
    })),
  )
  const members = [...contracts.values()].flatMap(({ part }) => [part.member, ...Object.keys(part.beside ?? {})])
  return {
    fields: [...coreFields, ...ofChannels],
    templates: channelModules.map(({ templates: { member, values } }) => ({ member, values })),
    members: [...new Set([...coreFields.map(({ path }) => path.split('.')[0]!), ...members])],
  }
}
