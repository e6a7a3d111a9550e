/** A misspelt option would silently mean its default: ?TLS=required is no tls=required. */
export function refuseUnknown(url: URL, known: readonly string[], wrong: (what: string) => never): void {
  const unknown = [...url.searchParams.keys()].find(name => !known.includes(name))
  if (unknown !== undefined) wrong(`a opção ${unknown} não existe; as que existem são ${known.join(', ')}`)
}
