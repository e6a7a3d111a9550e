/**
 * Swagger UI has no translations. This script, which runs on /docs, replaces its fixed texts as they appear. Only whole texts are
 * replaced, and never inside examples, answers or what a person types.
 */
const texts: Record<string, string> = {
  Authorize: 'Informar o token',
  Authorized: 'Token informado',
  'Available authorizations': 'Autorização',
  'Apply credentials': 'Usar o token',
  Logout: 'Esquecer o token',
  'Remove authorization': 'Esquecer o token',
  Close: 'Fechar',
  'Try it out': 'Experimentar',
  Execute: 'Executar',
  Clear: 'Limpar',
  Cancel: 'Cancelar',
  Reset: 'Restaurar',
  Parameters: 'Parâmetros',
  'No parameters': 'Sem parâmetros',
  'Request body': 'Corpo da requisição',
  'Edit Value': 'Editar',
  'Example Value': 'Exemplo',
  Example: 'Exemplo',
  Examples: 'Exemplos',
  Schema: 'Campos',
  Schemas: 'Campos',
  Model: 'Campos',
  Servers: 'Endereço',
  Responses: 'Respostas',
  'Server response': 'Resposta do servidor',
  'Response body': 'Corpo da resposta',
  'Response headers': 'Cabeçalhos da resposta',
  'Response content type': 'Tipo do conteúdo',
  'Request URL': 'Endereço chamado',
  'Request duration': 'Duração',
  Curl: 'Comando curl',
  Code: 'Código',
  Details: 'Detalhes',
  Description: 'Descrição',
  Name: 'Nome',
  Type: 'Tipo',
  'Headers:': 'Cabeçalhos:',
  'No links': 'Nenhum',
  'Media type': 'Tipo',
  'Controls ': 'Define o cabeçalho ',
  ' header.': '.',
  Download: 'Baixar',
  'Download file': 'Baixar o arquivo',
  'Copy to clipboard': 'Copiar',
  'Send empty value': 'Enviar vazio',
  'Expand all': 'Abrir tudo',
  'Collapse all': 'Fechar tudo',
  required: 'obrigatório',
  ' * required': ' * obrigatório',
  'Name: ': 'Nome: ',
  'In: ': 'Em: ',
  'Value:': 'Valor:',
  'Failed to load API definition.': 'A descrição da API não pôde ser lida. Recarregue a página.',
  Errors: 'Erros',
  Hide: 'Esconder',
  Undocumented: 'Sem descrição',
}

/** The texts that mean something else in one place, by the selector of the element that they are in. */
const textsIn: Record<string, Record<string, string>> = {
  '.auth-btn-wrapper': { Authorize: 'Usar o token' },
  '.parameter__in, .auth-container code': { header: 'cabeçalho', path: 'caminho', query: 'consulta' },
}

/** The texts that are in its style sheet, and what keeps two buttons apart. */
export const DOCS_STYLE = `
.swagger-ui .parameter__name.required::after { content: "obrigatório" }
.swagger-ui .loading-container .loading::after { content: "carregando" }
.swagger-ui .auth-btn-wrapper { gap: .75rem }
`.trim()

const attributes = ['title', 'aria-label', 'placeholder']

export const DOCS_SCRIPT = `
const texts = new Map(Object.entries(${JSON.stringify(texts)}))
const places = Object.entries(${JSON.stringify(textsIn)}).map(([place, own]) => [place, new Map(Object.entries(own))])
const attributes = ${JSON.stringify(attributes)}
const kept = 'pre, code, textarea, input, .opblock-summary-path, .markdown'
const put = (current, set) => {
  const text = texts.get(current) ?? texts.get(current.trim())
  if (text !== undefined && text !== current) set(text)
}
const textHere = ({ nodeValue, parentElement }) =>
  places.find(([place, own]) => own.has(nodeValue) && parentElement?.closest(place))?.[1].get(nodeValue)
const translate = node => {
  if (node.nodeType === Node.TEXT_NODE) {
    const here = textHere(node)
    if (here !== undefined) node.nodeValue = here
    else if (!node.parentElement?.closest(kept)) put(node.nodeValue, text => { node.nodeValue = text })
    return
  }
  if (node.nodeType !== Node.ELEMENT_NODE) return
  for (const name of attributes) if (node.hasAttribute(name)) put(node.getAttribute(name), text => node.setAttribute(name, text))
  for (const child of node.childNodes) translate(child)
}
new MutationObserver(changes => {
  for (const { type, target, addedNodes } of changes) {
    if (type === 'characterData') translate(target)
    else for (const node of addedNodes) translate(node)
  }
}).observe(document.body, { childList: true, characterData: true, subtree: true })
`.trim()
