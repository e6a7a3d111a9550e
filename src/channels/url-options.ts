/** A misspelt option would silently mean its default: ?TLS=required is no tls=required. */
export function refuseUnknown(url: URL, known: readonly string[], wrong: (what: string) => never): void {
  const unknown = [...url.searchParams.keys()].find(name => !known.includes(name))
  if (unknown !== undefined) wrong(`a opção ${unknown} não existe; as que existem são ${known.join(', ')}`)
}

/** The user or the password of a URL. A percent sign that is not part of a code would otherwise end the start with a bare URIError. */
export function readCredential(text: string, wrong: (what: string) => never): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return wrong('usuário ou senha com um % que não é um código; escreva-o como %25')
  }
}
