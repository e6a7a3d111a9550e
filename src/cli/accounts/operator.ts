import { Command, Option } from 'commander'
import { actor } from '../../app/actor.js'
import { type OperatorRole, operatorRoles } from '../../domain/access/operator.js'
import { OperatorError } from '../../domain/errors.js'
import { readEmailAddress } from '../../domain/text/mail-address.js'
import { invitationPath, invite } from '../../engine/console/invitations.js'
import { findOperator, listOperators } from '../../store/console/operators.js'
import { endSessions } from '../../store/console/sessions.js'
import { audit, change, requireAccount, run } from '../administration.js'
import { addVerb, required } from '../options.js'
import type { OutputOptions } from '../output.js'

type InviteOptions = OutputOptions & { email: string; role: OperatorRole; account?: string }

const SEE_OPERATORS = 'Veja os operadores com: carteiro operator list'

const readEmail = (text: string): string =>
  required(readEmailAddress(text), '--email deve ser um endereço de e-mail, como ana@empresa.com.br.').toLowerCase()

export function operatorCommand(): Command {
  const operator = new Command('operator').description('operadores do console: convidar, listar e encerrar sessões')

  addVerb(operator, 'invite', 'mostra um link, válido uma vez e por 24 horas, para uma pessoa entrar no console')
    .requiredOption('--email <endereço>', 'e-mail da pessoa', readEmail)
    .addOption(
      new Option('--role <papel>', 'operator: tudo; sender: uma conta; auditor: lê e confere')
        .choices(operatorRoles)
        .default('operator'),
    )
    .option('--account <conta>', 'nome ou id da conta, para o papel sender')
    .action((options: InviteOptions) =>
      change(options, async (db, { config }) => {
        const { email, role, account } = options
        if ((role === 'sender') !== (account !== undefined))
          throw new OperatorError('Informe --account com o papel sender, e só com ele.')
        if ((await findOperator(db, email)) !== null) throw new OperatorError(`Já existe o operador ${email}. ${SEE_OPERATORS}`)
        const id = account === undefined ? null : (await requireAccount(db, account)).id
        const secret = await invite(db, { email, role, account: id }, actor())
        const link = `${config.publicUrl}${invitationPath(secret)}`
        return options.json ? { email, role, link } : link
      }),
    )

  addVerb(operator, 'list', 'lista os operadores').action((options: OutputOptions) =>
    run(options, async ({ pool }) => [
      (await listOperators(pool)).map(({ email, name, role, accountName, hasTotp, sessions, seenAt }) => {
        return { email, name, role, account: accountName, totp: hasTotp, sessions, seenAt }
      }),
      'Não há operadores. O início do serviço mostra o link do primeiro; ou convide um com: carteiro operator invite --email ENDEREÇO',
    ]),
  )

  addVerb(operator, 'end-sessions', 'encerra todas as sessões de um operador no console')
    .requiredOption('--email <endereço>', 'e-mail da pessoa', readEmail)
    .action((options: OutputOptions & { email: string }) =>
      change(options, async db => {
        const found = required(await findOperator(db, options.email), `Não existe o operador ${options.email}. ${SEE_OPERATORS}`)
        const sessions = await endSessions(db, found.id)
        await audit(db, 'session end', found.id, { sessions })
        return { email: found.email, sessions }
      }),
    )

  return operator
}
