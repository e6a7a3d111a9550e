import { Command } from 'commander'
import { actor } from '../../app/actor.js'
import { OperatorError } from '../../domain/errors.js'
import { listLegalHolds, placeLegalHold, releaseLegalHold } from '../../store/notification/legal-holds.js'
import { audit, change, run } from '../administration.js'
import { idReader, readLimit, refuseBeside } from '../options.js'
import { cutList, type OutputOptions } from '../output.js'

type HoldOptions = OutputOptions & { reason?: string; release?: boolean; list?: boolean; limit?: number }

const MOST_LISTED = 10_000

/** legal-hold: what a court may want is kept as it is, whatever its term and whoever asks. */
export const legalHoldCommand = (): Command =>
  new Command('legal-hold')
    .description('guarda legal: uma notificação que nem prazo nem pedido apaga, até ser solta')
    .argument('[id]', 'o idEmail da notificação', idReader('Informe o idEmail da notificação (um UUID).'))
    .option('--reason <texto>', 'por quê, como o número do processo; fica na auditoria')
    .option('--release', 'solta a guarda')
    .option('--list', 'mostra o que está sob guarda')
    .option('--limit <n>', `com --list: quantas no máximo (padrão: ${MOST_LISTED})`, readLimit)
    .option('--json', 'resultado em JSON')
    .action((id: string | undefined, { reason, release, list = false, limit, ...options }: HoldOptions) => {
      if (list) {
        refuseBeside('--list', { 'o idEmail': id, '--release': release, '--reason': reason })
        return listHolds(limit ?? MOST_LISTED, options)
      }
      if (id === undefined) throw new OperatorError('Informe o idEmail da notificação, ou --list.')
      if (limit !== undefined) throw new OperatorError('--limit só tem efeito com --list. Retire-o, ou o idEmail.')
      return release === true ? releaseHold(id, reason, options) : hold(id, reason, options)
    })

const listHolds = (limit: number, options: OutputOptions): Promise<void> =>
  run(options, async ({ pool }) => [
    cutList(await listLegalHolds(pool, limit + 1), limit, 'as mais novas').map(hold => ({ ...hold })),
    'Nada está sob guarda legal.',
  ])

function hold(id: string, reason: string | undefined, options: OutputOptions): Promise<void> {
  if (reason === undefined || reason.trim() === '')
    throw new OperatorError('Diga por que com --reason, como o número do processo: quem pedir a exclusão receberá esta resposta.')
  return change(options, async db => {
    const outcome = await placeLegalHold(db, { notification: id, reason, by: actor() })
    if (outcome === 'missing') throw new OperatorError(`Não existe a notificação ${id}. Confira o idEmail, que o envio devolveu.`)
    if (outcome === 'erased') throw new OperatorError(`Os dados da notificação ${id} já foram apagados: não há o que guardar.`)
    if (outcome === 'held before')
      throw new OperatorError(
        `A notificação ${id} já está sob guarda. Veja desde quando e por quem com: carteiro legal-hold --list`,
      )
    await audit(db, 'legal-hold', id, { reason })
    return { notification: id, reason, held: true }
  })
}

const releaseHold = (id: string, reason: string | undefined, options: OutputOptions): Promise<void> =>
  change(options, async db => {
    if (!(await releaseLegalHold(db, id)))
      throw new OperatorError(`A notificação ${id} não está sob guarda. Veja o que está com: carteiro legal-hold --list`)
    await audit(db, 'legal-hold release', id, reason === undefined ? {} : { reason })
    return { notification: id, released: true }
  })
