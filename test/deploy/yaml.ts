import { createRequire } from 'node:module'

interface Yaml {
  parseAllDocuments(text: string, options: object): { errors: Error[]; toJS(): unknown }[]
}

// The reader that @fastify/swagger brings along: no dependency of our own for the sake of tests.
const { parseAllDocuments } = createRequire(createRequire(import.meta.url).resolve('@fastify/swagger'))('yaml') as Yaml

/** The documents of a YAML text; throws at the first error, duplicate keys included. */
export function readYaml<T>(text: string): T[] {
  return parseAllDocuments(text, { merge: true, uniqueKeys: true }).map(document => {
    for (const error of document.errors) throw error
    return document.toJS() as T
  })
}
