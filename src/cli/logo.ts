import { readFileSync, statSync } from 'node:fs'
import { Command } from 'commander'
import { OperatorError } from '../domain/errors.js'
import { logoType, MAX_LOGO_BYTES } from '../domain/logo.js'
import { deleteLogo, saveLogo } from '../store/accounts/accounts.js'
import { transaction } from '../store/postgres.js'
import { audit, requireAccount, withDatabase } from './administration.js'
import { type OutputOptions, printRecord } from './output.js'

export const logoCommand = (): Command =>
  new Command('logo')
    .description('muda ou retira o logotipo das páginas do destinatário')
    .requiredOption('--account <conta>', 'nome ou id da conta')
    .option('--clear', 'retira o logotipo')
    .option('--json', 'resultado em JSON')
    .argument('[arquivo]', `imagem PNG, JPEG ou SVG de até ${MAX_LOGO_BYTES / 1_000} kB`)
    .action(async (path: string | undefined, options: OutputOptions & { account: string; clear?: boolean }) => {
      if ((path === undefined) === (options.clear !== true)) throw new OperatorError('Informe um arquivo de imagem, ou --clear.')
      const logo = path === undefined ? null : readLogo(path)
      await withDatabase(async ({ pool }) => {
        const { id, name } = await requireAccount(pool, options.account)
        const sha256 = await transaction(pool, async db => {
          const saved = logo === null ? null : await saveLogo(db, id, logo)
          if (logo === null) await deleteLogo(db, id)
          await audit(db, 'account logo', id, { sha256: saved })
          return saved
        })
        printRecord({ account: name, type: logo?.type ?? null, sha256 }, options)
      })
    })

function readLogo(path: string): { type: string; bytes: Buffer } {
  let size: number
  try {
    size = statSync(path).size
  } catch (cause) {
    throw new OperatorError(`Não foi possível ler o arquivo ${path}.`, { cause })
  }
  if (size > MAX_LOGO_BYTES)
    throw new OperatorError(`O logotipo tem ${size} bytes; o limite é ${MAX_LOGO_BYTES}. Reduza a imagem.`)
  const bytes = readFileSync(path)
  const type = logoType(bytes)
  if (type === null)
    throw new OperatorError(`O arquivo ${path} não é uma imagem PNG, JPEG ou SVG. O conteúdo é conferido, não o nome.`)
  return { type, bytes }
}
