import { Command, Option } from 'commander'
import { OperatorError } from '../domain/errors.js'
import { newId, readId } from '../domain/id.js'
import { type Mode, readLifetime, signToken, type TokenClaims } from '../domain/token.js'
import { insertToken, listTokens, revokeToken } from '../store/accounts/tokens.js'
import { transaction } from '../store/postgres.js'
import { audit, requireAccount, withDatabase } from './administration.js'
import { type OutputOptions, print, printList, printRecord } from './output.js'

export function tokenCommand(): Command {
  const token = new Command('token').description('tokens: emitir, listar e revogar')

  token
    .command('issue')
    .description('emite um token e o mostra, uma única vez, na saída padrão')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .addOption(
      new Option('--mode <modo>', 'live: operadoras de verdade; test: sempre o simulador')
        .choices(['live', 'test'])
        .default('live'),
    )
    .option('--expires <prazo>', 'validade: 90d, 12h, 30m ou 1s (sem prazo, se omitida)')
    .option('--json', 'resultado em JSON')
    .action(async (options: OutputOptions & { account: string; mode: Mode; expires?: string }) => {
      const lifetime = options.expires === undefined ? null : readLifetime(options.expires)
      if (options.expires !== undefined && lifetime === null)
        throw new OperatorError('--expires deve ser um prazo como 90d, 12h, 30m ou 1s.')
      await withDatabase(async ({ pool, keys }) => {
        const now = Date.now()
        const claims = await transaction(pool, async db => {
          const account = await requireAccount(db, options.account)
          const issued: TokenClaims = {
            jti: newId(now),
            account: account.id,
            mode: options.mode,
            issuedAt: new Date(now),
            expiresAt: lifetime === null ? null : new Date(now + lifetime),
          }
          await insertToken(db, issued)
          await audit(db, 'token issue', issued.jti, { account: account.id, mode: issued.mode })
          return issued
        })
        const text = await signToken(keys.tokenSigning, claims)
        if (options.json) printRecord({ token: text, ...claims }, options)
        else print(text)
      })
    })

  token
    .command('list')
    .description('lista os tokens de uma conta (sem os segredos)')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .option('--json', 'resultado em JSON')
    .action((options: OutputOptions & { account: string }) =>
      withDatabase(async ({ pool }) => {
        const account = await requireAccount(pool, options.account)
        const tokens = await listTokens(pool, account.id)
        printList(
          tokens.map(({ jti, mode, issuedAt, expiresAt, revokedAt }) => ({ jti, mode, issuedAt, expiresAt, revokedAt })),
          options,
        )
      }),
    )

  token
    .command('revoke')
    .description('revoga um token; vale em todos os nós em até um segundo')
    .argument('<jti>', 'identificador do token (jti)')
    .option('--json', 'resultado em JSON')
    .action(async (text: string, options: OutputOptions) => {
      const jti = readId(text)
      if (jti === null) throw new OperatorError('O jti deve ser um UUID. Veja os tokens com: carteiro token list --account CONTA')
      await withDatabase(async ({ pool }) => {
        await transaction(pool, async db => {
          if (!(await revokeToken(db, jti))) throw new OperatorError(`Não existe o token ${jti}.`)
          await audit(db, 'token revoke', jti)
        })
        printRecord({ jti, revoked: true }, options)
      })
    })

  return token
}
