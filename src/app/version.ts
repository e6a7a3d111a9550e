import { readFileSync } from 'node:fs'

/** The version in package.json, which lies beside dist. */
export const readVersion = (): string =>
  (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version
