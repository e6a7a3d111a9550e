/** A user, a password or a path as it was before it was written into the URL. */
export function decodePart(text: string, wrong: (what: string) => never): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return wrong('há um % que não é um código; escreva-o como %25')
  }
}

/** A misspelt option would silently mean its default: ?TLS=required is no tls=required. */
export function refuseUnknown(url: URL, known: readonly string[], wrong: (what: string) => never): void {
  const unknown = [...url.searchParams.keys()].find(name => !known.includes(name))
  if (unknown !== undefined) wrong(`a opção ${unknown} não existe; as que existem são ${known.join(', ')}`)
}
