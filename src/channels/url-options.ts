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
