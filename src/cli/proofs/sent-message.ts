import { Command } from 'commander'
import { moduleOf } from '../../channels/registry.js'
import type { Channel } from '../../domain/channel.js'
import { OperatorError } from '../../domain/errors.js'
import { listSentContent, readSentMessage } from '../../store/evidence/sent-content.js'
import { type Pool, transaction } from '../../store/postgres.js'
import { audit, run } from '../administration.js'
import { channelOption, idReader, required } from '../options.js'
import type { OutputOptions } from '../output.js'
import { PRIVATE, writeWhole } from '../whole-file.js'

type MessageOptions = OutputOptions & { channel: Channel; reason: string; message?: number; out?: string }

/** sent-message: for a court, the message that the carrier got, with the recipient's link, and the salt that proves it. */
export const sentMessageCommand = (): Command =>
  new Command('sent-message')
    .description('grava uma mensagem como saiu, com o link do destinatário: para um juízo, e nunca para o remetente')
    .argument('<id>', 'o idEmail da notificação', idReader('Informe o idEmail da notificação (um UUID).'))
    .addOption(channelOption('o canal da mensagem').makeOptionMandatory())
    .requiredOption('--reason <texto>', 'por quê, como o número do processo; fica na auditoria')
    .option('--message <n>', 'qual delas, na ordem em que saíram (sem ele, a última)', readOrdinal)
    .option('--out <arquivo>', 'onde gravar (sem ele, mensagem-ID-CANAL-N nesta pasta)')
    .option('--json', 'resultado em JSON')
    .action((id: string, { channel, reason, message: asked, out, ...options }: MessageOptions) => {
      if (reason.trim() === '') throw new OperatorError('Diga por que com --reason, como o número do processo.')
      return run(options, async ({ pool }) => {
        const ordinal = await findOrdinal(pool, id, channel, asked)
        const sent = (await readSentMessage(pool, id, channel, ordinal))!
        // Before the file is there: nobody reads a recipient's link without a line in the log of actions.
        await transaction(pool, db => audit(db, 'sent-message', id, { channel, message: ordinal, reason }))
        const file = out ?? `mensagem-${id}-${moduleOf(channel).wire}-${ordinal}.${sent.extension}`
        await writeWhole(file, [sent.bytes], PRIVATE)
        return {
          file,
          message: ordinal,
          contentType: sent.contentType,
          size: sent.bytes.length,
          salt: sent.salt?.toString('hex') ?? null,
        }
      })
    })

const readOrdinal = (text: string): number =>
  required(/^[1-9]\d{0,3}$/.test(text) ? Number(text) : null, '--message deve ser um número inteiro a partir de 1.')

async function findOrdinal(pool: Pool, id: string, channel: Channel, asked: number | undefined): Promise<number> {
  const count = (await listSentContent(pool, id)).filter(content => content.channel === channel).length
  const { wire } = moduleOf(channel)
  if (count === 0)
    throw new OperatorError(
      `Nada saiu por ${wire} na notificação ${id}, ela não existe, ou o conteúdo foi apagado no fim do prazo.`,
    )
  if (asked !== undefined && asked > count)
    throw new OperatorError(`Por ${wire} saíram ${count} na notificação ${id}: informe --message de 1 a ${count}.`)
  return asked ?? count
}
