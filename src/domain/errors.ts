/**
 * Every way in which a request can be refused: what the caller reads and what it means.
 * The HTTP layer maps kinds to status codes, once, in http/errors.ts.
 */

export type RefusalKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'missing'
  | 'gone'
  | 'in-progress'
  | 'key-reused'
  | 'too-large'
  | 'limited'
  | 'unavailable'

const messages = {
  malformed: ['invalid', () => 'A requisição HTTP está malformada.'],
  // Body as a whole
  emptyBody: ['invalid', () => 'O corpo da requisição está vazio. Envie um objeto JSON.'],
  notJson: ['invalid', () => 'O corpo da requisição não é um JSON válido. Verifique aspas, vírgulas e chaves.'],
  notUtf8: ['invalid', () => 'O corpo da requisição não está em UTF-8. Envie o JSON codificado em UTF-8.'],
  notObject: ['invalid', () => 'O corpo da requisição deve ser um objeto JSON.'],
  contentType: ['invalid', () => 'O cabeçalho Content-Type deve ser application/json.'],
  tooDeep: ['invalid', () => 'O JSON tem níveis demais: são aceitos até 32 níveis de objetos e listas.'],
  tooComplex: ['invalid', () => 'O JSON tem elementos demais para ser lido. Reduza o número de objetos e listas.'],
  protoKey: ['invalid', () => 'O JSON contém a chave __proto__, que não é aceita. Remova-a.'],
  badCharacters: ['invalid', () => 'O JSON contém caracteres inválidos (NUL ou Unicode incompleto). Remova-os do texto enviado.'],
  numberTooLarge: ['invalid', () => 'O JSON contém um número grande demais. Envie-o como texto, entre aspas.'],
  storeRefused: ['invalid', () => 'Um valor enviado não pode ser armazenado. Verifique caracteres e tamanhos dos campos.'],
  bodyTooLarge: ['too-large', limit => `O corpo da requisição passa do limite de ${limit}. Reduza os anexos ou o conteúdo.`],
  // Fields
  required: ['invalid', field => `O campo ${field} é obrigatório e não pode ficar em branco.`],
  notText: ['invalid', field => `O campo ${field} deve ser um texto.`],
  notBoolean: ['invalid', field => `O campo ${field} deve ser verdadeiro ou falso (true ou false), sem aspas.`],
  notObjectField: ['invalid', field => `O campo ${field} deve ser um objeto.`],
  notList: ['invalid', field => `O campo ${field} deve ser uma lista.`],
  wrongValue: ['invalid', field => `O campo ${field} tem um valor inválido.`],
  notId: ['invalid', field => `O campo ${field} deve ser um identificador (UUID), como a API o mostrou.`],
  notInteger: ['invalid', field => `O campo ${field} deve ser um número inteiro, sem aspas.`],
  tooLow: ['invalid', (field, limit) => `O campo ${field} deve ser no mínimo ${limit}.`],
  tooHigh: ['invalid', (field, limit) => `O campo ${field} deve ser no máximo ${limit}.`],
  notAttempt: ['invalid', field => `O campo ${field} deve ser o id de uma tentativa, como a lista o mostrou.`],
  notOneOf: ['invalid', (field, values) => `O campo ${field} deve ser um destes valores: ${values}.`],
  tooLong: ['invalid', (field, limit) => `O campo ${field} passa do limite de ${limit} caracteres.`],
  lineBreak: ['invalid', field => `O campo ${field} não pode ter quebras de linha nem caracteres de controle.`],
  toRequired: [
    'invalid',
    others => `O campo to é obrigatório quando o envio é somente por e-mail. Informe to ou outro canal (${others}).`,
  ],
  badEmail: [
    'invalid',
    field => `O campo ${field} não é um endereço de e-mail válido. Informe um único endereço, como nome@dominio.com.br.`,
  ],
  badNumber: ['invalid', field => `Número do destinatário inválido. Verifique o número informado. Campo: ${field}.`],
  badTypeSend: ['invalid', field => `O campo ${field} deve ser '1' (só se o e-mail não for entregue) ou '2' (sempre).`],
  // Attachments
  badFileName: [
    'invalid',
    field => `O campo ${field} deve ser só o nome do arquivo, sem caminho, sem caracteres de controle e com até 255 caracteres.`,
  ],
  badBase64: ['invalid', field => `O campo ${field} não é um base64 válido. Envie o conteúdo do arquivo codificado em base64.`],
  dataPrefix: ['invalid', field => `O campo ${field} começa com "data:". Envie só o base64, sem o prefixo data:…;base64,.`],
  tooManyFiles: ['invalid', limit => `O campo attachments passa do limite de ${limit} arquivos.`],
  fileTooLarge: ['invalid', (field, limit) => `O arquivo em ${field} passa do limite de ${limit} por arquivo.`],
  filesTooLarge: ['invalid', limit => `Os arquivos em attachments passam, somados, do limite de ${limit}.`],
  // Templates and sequence
  templateSyntax: ['invalid', where => `O campo conteudo não é um Liquid válido${where}. Verifique chaves, etiquetas e filtros.`],
  templateUndeclared: [
    'invalid',
    variable => `O campo conteudo usa a variável ${variable}, que não está em variaveis. Declare-a.`,
  ],
  templateVariable: ['invalid', variable => `Falta o valor da variável obrigatória ${variable}. Informe-a em variaveis.`],
  templateLimits: ['invalid', () => 'O template demora ou cresce demais ao ser preenchido. Reduza repetições e tamanhos.'],
  repeatedVariable: ['invalid', variable => `A variável ${variable} aparece mais de uma vez em variaveis.`],
  nothingToChange: [
    'invalid',
    () => 'Nada a mudar: informe nome, conteudo, variaveis, templateId, metadata ou compartilhadoComEntidade.',
  ],
  repeatedStep: ['invalid', channel => `O canal ${channel} aparece mais de uma vez em etapas.`],
  // Webhooks
  webhookUrl: ['invalid', () => 'O campo url não é uma URL válida. Informe uma como https://sistema.example.com/avisos.'],
  webhookHttps: ['invalid', () => 'O campo url deve começar com https://. Avisos não vão por conexões sem cifra.'],
  webhookCredentials: [
    'invalid',
    () => 'O campo url não pode ter usuário nem senha. Confira a assinatura de cada aviso em vez disso.',
  ],
  webhookFragment: ['invalid', () => 'O campo url não pode ter um fragmento (#…), que nunca chega ao servidor. Remova-o.'],
  webhookPort: ['invalid', port => `O campo url usa a porta ${port}, que é de outro protocolo. Use a 443 ou uma acima de 1023.`],
  webhookAddress: [
    'invalid',
    host =>
      `O campo url aponta para ${host}, que não é um endereço público. Use um público, ou peça a liberação da faixa ao operador.`,
  ],
  webhookNothingToChange: ['invalid', () => 'Nada a mudar: informe url, versao, canais, situacoes ou ativo.'],
  badMoment: ['invalid', field => `O campo ${field} deve ser um momento em ISO 8601 com fuso, como 2026-07-18T01:01:32-03:00.`],
  replayWhat: ['invalid', () => 'Informe mensagem, ou desde (e, se quiser, ate e somenteFalhas).'],
  webhookOff: ['in-progress', () => 'O webhook está desativado. Ative-o (ativo: true) e repita.'],
  tooManyWebhooks: ['in-progress', limit => `A conta já tem ${limit} webhooks, o máximo. Apague um que não use e repita.`],
  tooManyListeners: [
    'in-progress',
    limit => `A conta já tem ${limit} escutas abertas, o máximo. Encerre uma (DELETE /gw/webhooks/{id}) e repita.`,
  ],
  tooManyPolls: [
    'limited',
    limit => `A conta já espera em ${limit} escutas ao mesmo tempo, o máximo. Aguarde uma delas responder.`,
  ],
  messageBusy: ['in-progress', () => 'A mensagem está sendo entregue agora. Repita em alguns segundos.'],
  webhookMissing: ['missing', () => 'Webhook não encontrado. Verifique o identificador.'],
  webhookMessageMissing: ['missing', () => 'Mensagem não encontrada neste webhook. Verifique o identificador.'],
  // Permission and existence
  unauthorized: ['unauthorized', () => 'Unauthorized'],
  validationNotEnabled: [
    'forbidden',
    support => `Sua conta não tem permissão para usar validation (pergunta e resposta). Peça a habilitação em ${support}.`,
  ],
  templateForbidden: [
    'forbidden',
    () => 'Você não tem permissão para editar este template. Só a conta que o criou pode editá-lo.',
  ],
  noStatus: ['missing', () => 'Email sem status!'],
  reportMissing: ['missing', () => 'Registro não encontrado'],
  recordingExpired: ['gone', () => 'A gravação foi apagada ao fim do prazo em que fica guardada.'],
  recordingMissing: ['missing', () => 'Gravação não encontrada. Verifique o endereço.'],
  templateMissing: ['missing', () => 'Template não encontrado. Verifique o identificador.'],
  routeMissing: ['missing', (method, path) => `Rota não encontrada: ${method} ${path}. Verifique o método e o caminho.`],
  // Idempotency
  badIdempotencyKey: ['invalid', () => 'O cabeçalho Idempotency-Key deve ter de 1 a 255 caracteres visíveis, sem acentos.'],
  keyInProgress: [
    'in-progress',
    () => 'A primeira requisição com este Idempotency-Key ainda está em andamento. Repita em alguns segundos.',
  ],
  keyReused: ['key-reused', () => 'Este Idempotency-Key já foi usado com outro corpo. Use uma chave nova para cada envio.'],
  // Limits and trouble
  tooManyRequests: ['limited', () => 'Too Many Requests'],
  databaseAway: [
    'unavailable',
    () => 'Serviço temporariamente indisponível: banco de dados fora de alcance. Tente novamente em instantes.',
  ],
  stopping: ['unavailable', () => 'O servidor está encerrando. Tente novamente em instantes.'],
  overloaded: ['unavailable', () => 'Serviço temporariamente sobrecarregado. Tente novamente em instantes.'],
  simulatorOff: [
    'unavailable',
    () => 'O token é de teste e o simulador está desligado neste servidor. Use um token de produção ou ligue o simulador.',
  ],
} as const satisfies Record<string, readonly [RefusalKind, (...details: string[]) => string]>

export type RefusalCode = keyof typeof messages

/** An expected failure whose message is meant for the caller. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly kind: RefusalKind
  readonly details: string[]
  /** Seconds after which trying again makes sense. */
  readonly retryAfter: number | undefined

  constructor(code: RefusalCode, details: string[] = [], options: { retryAfter?: number; cause?: unknown } = {}) {
    const [kind, text] = messages[code] as readonly [RefusalKind, (...details: string[]) => string]
    super(text(...details), { cause: options.cause })
    this.name = 'Refusal'
    this.code = code
    this.kind = kind
    this.details = details
    this.retryAfter = options.retryAfter
  }
}

/** Too many wait for the same thing: the caller is to come back. */
export const overloaded = (): Refusal => new Refusal('overloaded', [], { retryAfter: 5 })

export const refuse = (code: RefusalCode, ...details: string[]): never => {
  throw new Refusal(code, details)
}

/** The store cannot be reached, or gave no answer in time. What was asked may or may not have happened. */
export class StoreUnavailable extends Error {
  constructor(cause: unknown) {
    super('the database is out of reach', { cause })
    this.name = 'StoreUnavailable'
  }
}

/** A mistake of whoever runs the program: shown as one sentence, without a stack. */
export class OperatorError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'OperatorError'
  }
}
