/**
 * Every way in which a request can be refused, by kind: the message for the caller, with a name such as $field for each detail.
 * http/errors.ts maps the kinds to HTTP status codes.
 */
const messages = {
  invalid: {
    malformed: 'A requisição HTTP está malformada.',
    // Body as a whole
    emptyBody: 'O corpo da requisição está vazio. Envie um objeto JSON.',
    notJson: 'O corpo da requisição não é um JSON válido. Verifique aspas, vírgulas e chaves.',
    notUtf8: 'O corpo da requisição não está em UTF-8. Envie o JSON codificado em UTF-8.',
    notObject: 'O corpo da requisição deve ser um objeto JSON.',
    contentType: 'O cabeçalho Content-Type deve ser application/json.',
    tooDeep: 'O JSON tem níveis demais: são aceitos até 32 níveis de objetos e listas.',
    tooComplex: 'O JSON tem elementos demais para ser lido. Reduza o número de objetos e listas.',
    protoKey: 'O JSON contém a chave __proto__, que não é aceita. Remova-a.',
    badCharacters: 'O JSON contém caracteres inválidos (NUL ou Unicode incompleto). Remova-os do texto enviado.',
    numberTooLarge: 'O JSON contém um número grande demais. Envie-o como texto, entre aspas.',
    storeRefused: 'Um valor enviado não pode ser armazenado. Verifique caracteres e tamanhos dos campos.',
    // Fields
    required: 'O campo $field é obrigatório e não pode ficar em branco.',
    notText: 'O campo $field deve ser um texto.',
    notBoolean: 'O campo $field deve ser verdadeiro ou falso (true ou false), sem aspas.',
    notObjectField: 'O campo $field deve ser um objeto.',
    notList: 'O campo $field deve ser uma lista.',
    wrongValue: 'O campo $field tem um valor inválido.',
    notId: 'O campo $field deve ser um identificador (UUID), como a API o mostrou.',
    notInteger: 'O campo $field deve ser um número inteiro, sem aspas.',
    tooLow: 'O campo $field deve ser no mínimo $limit.',
    tooHigh: 'O campo $field deve ser no máximo $limit.',
    notAttempt: 'O campo $field deve ser o id de uma tentativa, como a lista o mostrou.',
    notOneOf: 'O campo $field deve ser um destes valores: $values.',
    tooLong: 'O campo $field passa do limite de $limit caracteres.',
    lineBreak: 'O campo $field não pode ter quebras de linha nem caracteres de controle.',
    toRequired: 'O campo to é obrigatório quando o envio é somente por e-mail. Informe to ou outro canal ($others).',
    badEmail: 'O campo $field não é um endereço de e-mail válido. Informe um único endereço, como nome@dominio.com.br.',
    badNumber: 'Número do destinatário inválido. Verifique o número informado. Campo: $field.',
    badTypeSend: "O campo $field deve ser '1' (só se o e-mail não for entregue) ou '2' (sempre).",
    linkNotAlone:
      'No campo $field, {SHORT_LINK} deve ficar sozinho: no início, no fim ou com um espaço de cada lado. Separe-o do resto do texto.',
    // Attachments
    badFileName:
      'O campo $field deve ser só o nome do arquivo, sem caminho, sem caracteres de controle e com até 255 caracteres.',
    badBase64: 'O campo $field não é um base64 válido. Envie o conteúdo do arquivo codificado em base64.',
    dataPrefix: 'O campo $field começa com "data:". Envie só o base64, sem o prefixo data:…;base64,.',
    tooManyFiles: 'O campo attachments passa do limite de $limit arquivos.',
    fileTooLarge: 'O arquivo em $field passa do limite de $limit por arquivo.',
    filesTooLarge: 'Os arquivos em attachments passam, somados, do limite de $limit.',
    // Templates and sequence
    templateSyntax: 'O campo conteudo não é um Liquid válido$where. Verifique chaves, etiquetas e filtros.',
    templateUndeclared: 'O campo conteudo usa a variável $variable, que não está em variaveis. Declare-a.',
    templateVariable: 'Falta o valor da variável obrigatória $variable. Informe-a em variaveis.',
    templateLimits: 'O template demora ou cresce demais ao ser preenchido. Reduza repetições e tamanhos.',
    tooManyElements: 'O campo conteudo tem no máximo $limit etiquetas ({{ … }} e {% … %}). Reduza-as.',
    tooManyVariables: 'Um template tem no máximo $limit variáveis. Reduza-as.',
    repeatedVariable: 'A variável $variable aparece mais de uma vez em variaveis.',
    nothingToChange: 'Nada a mudar: informe nome, conteudo, variaveis, templateId, metadata ou compartilhadoComEntidade.',
    repeatedStep: 'O canal $channel aparece mais de uma vez em etapas.',
    // Webhooks
    webhookUrl: 'O campo url não é uma URL válida. Informe uma como https://sistema.example.com/avisos.',
    webhookHttps: 'O campo url deve começar com https://. Avisos não vão por conexões sem cifra.',
    webhookCredentials: 'O campo url não pode ter usuário nem senha. Confira a assinatura de cada aviso em vez disso.',
    webhookFragment: 'O campo url não pode ter um fragmento (#…), que nunca chega ao servidor. Remova-o.',
    webhookPort: 'O campo url usa a porta $port, que é de outro protocolo. Use a 443 ou uma acima de 1023.',
    webhookAddress:
      'O campo url aponta para $host, que não é um endereço público. Use um público, ou peça a liberação da faixa ao operador.',
    webhookNothingToChange: 'Nada a mudar: informe url, versao, canais, situacoes ou ativo.',
    badMoment: 'O campo $field deve ser um momento em ISO 8601 com fuso, como 2026-07-18T01:01:32-03:00.',
    replayWhat: 'Informe mensagem, ou desde (e, se quiser, ate e somenteFalhas).',
    // Idempotency
    badIdempotencyKey: 'O cabeçalho Idempotency-Key deve ter de 1 a 255 caracteres visíveis, sem acentos.',
  },
  'too-large': {
    bodyTooLarge: 'O corpo da requisição passa do limite de $limit. Reduza os anexos ou o conteúdo.',
  },
  'too-slow': {
    tooSlow: 'A requisição demorou demais para chegar. Tente novamente.',
  },
  'in-progress': {
    webhookOff: 'O webhook está desativado. Ative-o (ativo: true) e repita.',
    tooManyWebhooks: 'A conta já tem $limit webhooks, o máximo. Apague um que não use e repita.',
    tooManyListeners: 'A conta já tem $limit escutas abertas, o máximo. Encerre uma (DELETE /gw/webhooks/{id}) e repita.',
    messageBusy: 'A mensagem está sendo entregue agora. Repita em alguns segundos.',
    keyInProgress: 'A primeira requisição com este Idempotency-Key ainda está em andamento. Repita em alguns segundos.',
  },
  limited: {
    tooManyPolls: 'A conta já espera em $limit escutas ao mesmo tempo, o máximo. Aguarde uma delas responder.',
    tooManyRequests: 'Too Many Requests',
  },
  missing: {
    webhookMissing: 'Webhook não encontrado. Verifique o identificador.',
    webhookMessageMissing: 'Mensagem não encontrada neste webhook. Verifique o identificador.',
    noStatus: 'Email sem status!',
    reportMissing: 'Registro não encontrado',
    recordingMissing: 'Gravação não encontrada. Verifique o endereço.',
    templateMissing: 'Template não encontrado. Verifique o identificador.',
    routeMissing: 'Rota não encontrada: $method $path. Verifique o método e o caminho.',
  },
  unauthorized: {
    unauthorized: 'Unauthorized',
  },
  forbidden: {
    validationNotEnabled:
      'Sua conta não tem permissão para usar validation (pergunta e resposta). Peça a habilitação em $support.',
    foreignReport: 'O aviso é sobre um envio que não foi entregue a esta operadora neste modo. Nada foi registrado.',
    templateForbidden: 'Você não tem permissão para editar este template. Só a conta que o criou pode editá-lo.',
    templateInTestMode:
      'Em modo de teste, os templates da conta podem ser lidos e usados, não mudados. Crie outro com o token de teste ou repita com um token de produção.',
    sequenceInTestMode:
      'Em modo de teste, a régua da conta vale para os envios e não pode ser mudada. Repita com um token de produção.',
  },
  gone: {
    recordingExpired: 'A gravação foi apagada ao fim do prazo em que fica guardada.',
  },
  'key-reused': {
    keyReused: 'Este Idempotency-Key já foi usado com outro corpo. Use uma chave nova para cada envio.',
  },
  unavailable: {
    databaseAway: 'Serviço temporariamente indisponível: banco de dados fora de alcance. Tente novamente em instantes.',
    databaseRefused:
      'Serviço temporariamente indisponível: o banco de dados não pôde atender agora (bloqueado, somente leitura, cheio ou em manutenção). Tente novamente em instantes.',
    standbyLost:
      'Serviço temporariamente indisponível: a cópia síncrona do banco de dados não responde, e sem ela nada é aceito. Este pedido não foi gravado. Tente novamente em instantes.',
    schemaBehind:
      'Serviço temporariamente indisponível: o banco de dados espera uma migração desta versão. Execute carteiro migrate.',
    stopping: 'O servidor está encerrando. Tente novamente em instantes.',
    overloaded: 'Serviço temporariamente sobrecarregado. Tente novamente em instantes.',
    simulatorOff:
      'O token é de teste e o simulador está desligado neste servidor. Use um token de produção ou ligue o simulador.',
  },
  // A client that repeats such a request blindly may do the same thing twice.
  unknown: {
    sendUnknown:
      'Não se sabe se o envio foi gravado: o banco de dados não confirmou a tempo. Ele pode ainda ser entregue. Antes de repetir sem Idempotency-Key, consulte GET /gw/full/$id por alguns minutos: 200 diz que foi aceito com este idEmail. Com o mesmo Idempotency-Key, repetir é seguro.',
    writeUnknown:
      'Não se sabe se o pedido foi gravado: o banco de dados não confirmou a tempo. Consulte o resultado antes de repetir.',
  },
} as const

type Messages = typeof messages
export type RefusalKind = keyof Messages
export type RefusalCode = { [Kind in RefusalKind]: keyof Messages[Kind] }[RefusalKind]

const kinds = Object.entries(messages) as [RefusalKind, Readonly<Record<string, string>>][]
const refusals = new Map(kinds.flatMap(([kind, texts]) => Object.entries(texts).map(([code, text]) => [code, { kind, text }])))

/** An expected failure whose message is meant for the caller. */
export class Refusal extends Error {
  readonly code: RefusalCode
  readonly kind: RefusalKind
  readonly details: string[]
  /** Seconds after which trying again makes sense. */
  readonly retryAfter: number | undefined

  constructor(code: RefusalCode, details: string[] = [], options: { retryAfter?: number; cause?: unknown } = {}) {
    const { kind, text } = refusals.get(code)!
    const rest = [...details]
    const message = text.replace(/\$\w+/g, () => rest.shift()!)
    super(message, { cause: options.cause })
    this.name = 'Refusal'
    this.code = code
    this.kind = kind
    this.details = details
    this.retryAfter = options.retryAfter
  }
}

export const overloaded = (cause?: unknown): Refusal => new Refusal('overloaded', [], { retryAfter: 5, cause })

export const refuse = (code: RefusalCode, ...details: string[]): never => {
  throw new Refusal(code, details)
}

/** The database cannot be reached, did not answer in time, or cannot do now what it was asked. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  /**
   * reachable: the database itself answered that it cannot; maybeCommitted: the answer to a commit was lost, so that nobody knows
   * whether the write happened.
   */
  readonly reachable: boolean
  readonly maybeCommitted: boolean

  constructor(cause: unknown, { reachable = false, maybeCommitted = false, message = 'the database is out of reach' } = {}) {
    super(message, { cause })
    this.reachable = reachable
    this.maybeCommitted = maybeCommitted
  }
}

/** Every connection of this process is in use. Nothing was asked of the database. */
export class StoreBusy extends StoreUnavailable {
  constructor(cause: unknown) {
    super(cause, { message: 'all database connections of this process are in use' })
  }
}

/** A mistake of the operator: shown as one sentence, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
