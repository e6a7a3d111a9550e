import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's own files, for the tests that hold its rules. Paths are relative to the project and use "/". */
export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Made by programs, not by people. */
const NOT_OURS = new Set(['node_modules', 'dist', 'data', 'coverage', '.git', 'package-lock.json', '.env'])

export function listFiles(folder = '.'): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter(entry => !NOT_OURS.has(entry.name))
    .flatMap(entry => {
      const path = normalize(join(folder, entry.name)).replaceAll('\\', '/')
      return entry.isDirectory() ? listFiles(path) : [path]
    })
    .sort()
}

export const readSource = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** All migrations, in order: a later one adds tables as well. */
export const readMigrations = (): string =>
  listFiles('migrations')
    .filter(path => /\/\d{4}_\w+\.sql$/.test(path))
    .map(readSource)
    .join('\n')

/** TypeScript without its comments; what stands in strings stays. */
export function withoutComments(source: string): string {
  return source.replace(
    /('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
    (_, text?: string) => text ?? '',
  )
}

export interface Import {
  /** What stands between the quotes. */
  name: string
  /** The file it means, when it is one of ours. */
  path: string | null
  /** For types alone: gone once compiled. */
  typesOnly: boolean
  /** import(): loaded when it is called, after the modules are complete. */
  dynamic: boolean
}

export function importsOf(path: string, source = readSource(path)): Import[] {
  const found = withoutComments(source).matchAll(
    /(?:\b(?:import|export)(?<types>\s+type)?\s+(?:[\w*,\s]|\{[^}]*\})*?\bfrom|\bimport)\s*(?<call>\()?\s*(?:'(?<single>[^'\n]+)'|"(?<double>[^"\n]+)")/g,
  )
  return [...found]
    .map(match => ({
      types: match.groups!.types,
      call: match.groups!.call,
      name: match.groups!.single ?? match.groups!.double,
    }))
    .map(({ types, call, name }) => ({
      dynamic: call !== undefined,
      typesOnly: types !== undefined,
      name: name!,
      path: name!.startsWith('.')
        ? relative('.', join(dirname(path), name!.replace(/\.js$/, '.ts'))).replaceAll('\\', '/')
        : null,
    }))
}
