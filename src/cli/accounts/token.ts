import { Command } from 'commander'
import { readLifetime, signToken, type TokenClaims } from '../../domain/access/token.js'
import { OperatorError } from '../../domain/errors.js'
import { newId } from '../../domain/id.js'
import { insertToken, listTokens, revokeToken } from '../../store/accounts/tokens.js'
import { audit, change, requireAccount, runForAccount } from '../administration.js'
import { type AccountOptions, addAccountVerb, addVerb, idReader, modeOption, required, type ScopeOptions } from '../options.js'
import type { OutputOptions } from '../output.js'

const SEE_TOKENS = 'Veja os tokens com: carteiro token list --account CONTA'

export function tokenCommand(): Command {
  const token = new Command('token').description('tokens: emitir, listar e revogar')

  addAccountVerb(token, 'issue', 'emite um token e o mostra, uma única vez, na saída padrão')
    .addOption(modeOption('live: operadoras de verdade; test: sempre o simulador').default('live'))
    .option('--expires <prazo>', 'validade: 90d, 12h, 30m ou 1s (sem prazo, se omitida)', text =>
      required(readLifetime(text), '--expires deve ser um prazo como 90d, 12h, 30m ou 1s.'),
    )
    .action((options: ScopeOptions & { expires?: number }) =>
      change(options, async (db, { keys }) => {
        const now = Date.now()
        const { id: account } = await requireAccount(db, options.account)
        const expiresAt = options.expires === undefined ? null : new Date(now + options.expires)
        const claims: TokenClaims = { jti: newId(now), account, mode: options.mode, issuedAt: new Date(now), expiresAt }
        await insertToken(db, claims)
        await audit(db, 'token issue', claims.jti, { account, mode: claims.mode })
        const text = await signToken(keys.tokenSigning, claims)
        return options.json ? { token: text, ...claims } : text
      }),
    )

  addAccountVerb(token, 'list', 'lista os tokens de uma conta (sem os segredos)').action((options: AccountOptions) =>
    runForAccount(options, async ({ pool }, account) => [
      (await listTokens(pool, account.id)).map(({ jti, mode, issuedAt, expiresAt, revokedAt }) => {
        return { jti, mode, issuedAt, expiresAt, revokedAt }
      }),
      `A conta "${account.name}" não tem tokens. Emita um com: carteiro token issue --account ${account.name}`,
    ]),
  )

  addVerb(token, 'revoke', 'revoga um token; vale em todos os nós em até um segundo')
    .argument('<jti>', 'identificador do token (jti)', idReader(`O jti deve ser um UUID. ${SEE_TOKENS}`))
    .action((jti: string, options: OutputOptions) =>
      change(options, async db => {
        if (!(await revokeToken(db, jti))) throw new OperatorError(`Não existe o token ${jti}. ${SEE_TOKENS}`)
        await audit(db, 'token revoke', jti)
        return { jti, revoked: true }
      }),
    )

  return token
}
