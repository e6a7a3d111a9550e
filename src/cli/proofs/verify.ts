import { readFile } from 'node:fs/promises'
import { Command, CommanderError } from 'commander'
import { nodeTools } from '../../evidence/node-tools.js'
import type { Verdict } from '../../evidence/verify/verdict.js'
import { type FileVerdict, verifyFile } from '../../evidence/verify-file.js'
import { type OutputOptions, print } from '../output.js'

interface VerifyOptions extends OutputOptions {
  key?: string
}

/** 0: everything holds. 1: something does not, or the key that was given could not be compared. 2: the file cannot be read, or is neither a bundle nor a PDF. */
const BROKEN = 1
const UNREADABLE = 2

export function verifyCommand(): Command {
  return new Command('verify')
    .description(
      'confere um pacote de evidências (ZIP) ou um documento (PDF), sem rede nem banco; termina com 0 se tudo confere, 1 se algo não confere ou não há com que comparar a chave de --key, 2 se o arquivo não pode ser lido',
    )
    .argument('<arquivo>', 'o pacote .zip ou o documento .pdf')
    .option('--key <vkey>', 'a chave do registro, obtida de outra fonte que não o arquivo')
    .option('--json', 'resultado em JSON')
    .action(async (path: string, { key, json }: VerifyOptions) => {
      const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) =>
        stop(`${path} não pode ser lido (${error.code ?? error.message}).`),
      )
      const verdict =
        (await verifyFile(bytes, { key: key ?? null }, nodeTools)) ??
        stop(`${path} não é um pacote de evidências (ZIP) nem um PDF.`)
      print(json === true ? JSON.stringify(verdict) : describe(path, verdict))
      if (!verdict.holds) throw new CommanderError(BROKEN, 'carteiro.verify', '')
    })
}

function stop(problem: string): never {
  process.stderr.write(`${problem}\n`)
  throw new CommanderError(UNREADABLE, 'carteiro.verify', problem)
}

const marks = {
  holds: 'confere  ',
  partial: 'em parte ',
  absent: 'não há   ',
  broken: 'FALHA    ',
  skipped: '-        ',
} as const

function describe(path: string, verdict: FileVerdict): string {
  const lines: string[] = [path]
  if (verdict.document !== null) {
    const { problem, found } = verdict.document
    lines.push('', `${problem === null ? marks.holds : marks.broken}Documento assinado (PDF): ${problem ?? found}`)
  }
  if (verdict.bundle !== null) lines.push(...describeBundle(verdict.bundle, verdict.document !== null))
  else if (verdict.document !== null)
    lines.push(
      '',
      'O PDF não traz o pacote de evidências (evidencia.zip): confere-se só a assinatura dele, com o certificado que vem nele. De quem é o certificado, compare com o que o remetente publica.',
    )
  lines.push('', `RESULTADO: ${resultOf(verdict)}`)
  return lines.join('\n')
}

function resultOf({ holds, document, bundle, isKeyUnused }: FileVerdict): string {
  const problem = document?.problem ?? bundle?.fault?.message
  if (problem !== undefined && problem !== null) return `algo não confere. ${problem}`
  if (isKeyUnused)
    return 'a chave de --key não foi comparada com nada, porque o PDF não traz o pacote de evidências. Confira o pacote (.zip) com ela, ou o PDF sem ela.'
  return bundle === null && holds ? 'a assinatura do PDF confere.' : 'tudo confere.'
}

function describeBundle({ notification, steps, proven, unproven }: Verdict, isEmbedded: boolean): string[] {
  const section = (title: string, items: readonly string[]): string[] =>
    items.length === 0 ? [] : ['', title, ...items.map(item => `  - ${item}`)]
  return [
    '',
    `${isEmbedded ? 'Pacote dentro do PDF' : 'Pacote de evidências'}${notification === null ? '' : ` da notificação ${notification}`}`,
    ...steps.map(({ title, state, detail }) => `${marks[state]}${title}: ${detail}`),
    ...section('FICA PROVADO', proven),
    ...section('NÃO FICA PROVADO', unproven),
  ]
}
