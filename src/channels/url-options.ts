import { decodePercent } from '../domain/text/percent.js'

/** Refuses unknown options: a misspelt one, such as ?TLS=required, would silently mean its default. */
export function refuseUnknown(url: URL, known: readonly string[], wrong: (what: string) => never): void {
  const unknown = [...url.searchParams.keys()].find(name => !known.includes(name))
  if (unknown !== undefined) wrong(`a opção ${unknown} não existe; as que existem são ${known.join(', ')}`)
}

/** Reads whole numbers within limits from the options of a URL. */
export const integerReader =
  (url: URL, wrong: (what: string) => never) =>
  (name: string, fallback: number, least: number, most: number): number => {
    const text = url.searchParams.get(name) ?? String(fallback)
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    return value >= least && value <= most ? value : wrong(`${name} deve ser um número de ${least} a ${most}`)
  }

/** Reads one of several words from the options of a URL; the first word is the default. */
export const choiceReader =
  (url: URL, wrong: (what: string) => never) =>
  <Word extends string>(name: string, words: readonly [Word, ...Word[]]): Word => {
    const text = url.searchParams.get(name) ?? words[0]
    return words.find(word => word === text) ?? wrong(`${name} deve ser ${words.slice(0, -1).join(', ')} ou ${words.at(-1)}`)
  }

/** A part of a URL's credentials. A percent sign that is not part of a code would otherwise end the start with a bare URIError. */
export function readCredential(text: string, wrong: (what: string) => never, name = 'usuário ou senha'): string {
  return decodePercent(text) ?? wrong(`${name} com um % que não é um código; escreva-o como %25`)
}

/** The host without the brackets of an IPv6 address. */
export const readHost = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')
