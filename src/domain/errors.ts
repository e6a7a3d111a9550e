const BAD_NUMBER = 'Número do destinatário inválido. Verifique o número informado.'

/**
 * Every way in which a request can be refused, by kind: the message for the caller, with a name such as $field for each detail.
 * http/errors.ts maps the kinds to HTTP status codes.
 */
const messages = {
  invalid: {
    malformed: 'A requisição HTTP está malformada.',
    badUrl: 'O endereço tem um % que não codifica um caractere. Codifique-o como %25.',
    // Body as a whole
    emptyBody: 'O corpo da requisição está vazio. Envie um objeto JSON.',
    notJson: 'O corpo da requisição não é um JSON válido. Verifique aspas, vírgulas e chaves.',
    notUtf8: 'O corpo da requisição não está em UTF-8. Envie o JSON codificado em UTF-8.',
    notObject: 'O corpo da requisição deve ser um objeto JSON.',
    contentType: 'O cabeçalho Content-Type deve ser application/json.',
    contentEncoding:
      'O corpo da requisição está comprimido (Content-Encoding: $coding), e corpos comprimidos não são aceitos. Envie-o sem compressão e sem esse cabeçalho.',
    tooDeep: 'O JSON tem níveis demais: são aceitos até 32 níveis de objetos e listas.',
    tooComplex: 'O JSON tem elementos demais para ser lido. Reduza o número de objetos e listas.',
    protoKey: 'O JSON contém a chave __proto__, que não é aceita. Remova-a.',
    badCharacters: 'O JSON contém caracteres inválidos (NUL ou Unicode incompleto). Remova-os do texto enviado.',
    numberTooLarge: 'O JSON contém um número grande demais. Envie-o como texto, entre aspas.',
    storeRefused: 'Um valor enviado não pode ser armazenado. Verifique caracteres e tamanhos dos campos.',
    // Fields
    required: 'O campo $field é obrigatório e não pode ficar em branco.',
    emptyContent: 'O campo $field não tem texto nem imagem que o destinatário possa ver. Escreva a mensagem.',
    notText: 'O campo $field deve ser um texto.',
    notBoolean: 'O campo $field deve ser verdadeiro ou falso (true ou false), sem aspas.',
    notObjectField: 'O campo $field deve ser um objeto.',
    notList: 'O campo $field deve ser uma lista.',
    wrongValue: 'O campo $field tem um valor que não é aceito. Confira o tipo e o formato na descrição da rota (/docs).',
    notId: 'O campo $field deve ser um identificador (UUID), como a API o mostrou.',
    notInteger: 'O campo $field deve ser um número inteiro, sem aspas.',
    tooLow: 'O campo $field deve ser no mínimo $limit.',
    tooHigh: 'O campo $field deve ser no máximo $limit.',
    tooManyItems: 'O campo $field aceita no máximo $limit itens. Envie menos.',
    notOneOf: 'O campo $field deve ser um destes valores: $values.',
    tooLong: 'O campo $field passa do limite de $limit caracteres.',
    lineBreak: 'O campo $field não pode ter quebras de linha nem caracteres de controle.',
    toRequired: 'O campo to é obrigatório quando o envio é somente por e-mail. Informe to ou outro canal ($others).',
    badEmail: 'O campo $field não é um endereço de e-mail válido. Informe um único endereço, como nome@dominio.com.br.',
    numberMissing: `${BAD_NUMBER} O campo $field é obrigatório e não pode ficar em branco.`,
    numberNotText: `${BAD_NUMBER} O campo $field deve ser um texto: escreva o número entre aspas.`,
    numberMasked: `${BAD_NUMBER} O campo $field tem máscara ou outros caracteres: envie só os dígitos (um + no início é aceito).`,
    numberTooShort: `${BAD_NUMBER} O campo $field tem dígitos de menos: informe o DDD e o número inteiro, como 11987654321.`,
    numberWithoutNinthDigit: `${BAD_NUMBER} O campo $field é de um celular sem o nono dígito: confirme-o e informe o 9 depois do DDD.`,
    numberOfFixedLine: `${BAD_NUMBER} O campo $field é de um telefone fixo: este canal só chega a celulares.`,
    numberImpossible: `${BAD_NUMBER} O campo $field não é um número que exista: confira o DDD, ou o código do país, e os dígitos.`,
    badSendTime:
      'O campo $field deve ser um momento em ISO 8601 com fuso, como 2026-12-01T09:00:00-03:00, ou na hora de Brasília, como 01/12/2026 09:00.',
    sendTimePast: 'O campo $field já passou. Informe um momento futuro, ou tire o campo para enviar agora.',
    sendTimeFar: 'O campo $field está longe demais: informe um momento nos próximos $limit dias.',
    badTypeSend: "O campo $field deve ser '1' (só se o e-mail não for entregue) ou '2' (sempre).",
    nestedVariable:
      'O campo $field não pode ser um objeto nem uma lista: no lugar da variável sairia um texto sem sentido. Informe um texto, um número, true ou false.',
    twoTexts: 'Informe $one ou $other, não os dois: a mensagem tem um só texto.',
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
    templateVariable: 'Falta o valor da variável obrigatória $variable: informe $member.',
    templatePlaceholder:
      'O campo conteudo tem $found, que sairia assim mesmo na mensagem. Escreva a variável como $right; se o texto for esse mesmo, ponha-o entre {% raw %} e {% endraw %}.',
    templateNumber:
      'O campo conteudo tem $found, que sairia como um número. Dê um nome à variável, como {{ nome }}; a ordem dos parâmetros é a de variaveis.',
    templateIgnored: 'O campo conteudo tem $found, e uma parte disso ficaria fora da mensagem sem aviso. $cure.',
    templateMember:
      'O campo conteudo usa $found, mas o valor de uma variável é um só texto ou número, sem membros. Use uma variável própria, como $right.',
    templateLink: 'O campo conteudo tem {SHORT_LINK}, que não existe em templates de $channel. Remova-o.',
    templateLimits: 'O template demora ou cresce demais ao ser preenchido. Reduza repetições e tamanhos.',
    tooManyElements: 'O campo conteudo tem no máximo $limit etiquetas ({{ … }} e {% … %}). Reduza-as.',
    tooManyVariables: 'Um template tem no máximo $limit variáveis. Reduza-as.',
    repeatedVariable: 'A variável $variable aparece mais de uma vez em variaveis. Declare-a uma só vez.',
    nothingToChange: 'Nada a mudar: informe nome, conteudo, variaveis, templateId, metadata ou compartilhadoComEntidade.',
    repeatedStep: 'O canal $channel aparece mais de uma vez em etapas. Deixe uma só etapa por canal.',
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
    // Search
    badSearchMoment:
      'O parâmetro $field deve ser um dia, como 2026-07-18, ou um momento em ISO 8601 com fuso, como 2026-07-18T01:01:32-03:00.',
    badMonth: 'O parâmetro $field deve ser um mês, como 2026-11.',
    emptySpan: 'O parâmetro to deve ser depois de from. Corrija um dos dois.',
    badCursor: 'O parâmetro cursor deve ser o que a página anterior trouxe em cursor. Para a primeira página, tire-o.',
    badLimit: 'O parâmetro limit deve ser um número inteiro de 1 a $max.',
    badContact: 'O parâmetro recipient deve ser $kinds. Números vão só com dígitos, sem máscara.',
    badParameter: 'O parâmetro $field tem caracteres inválidos (NUL ou Unicode incompleto). Remova-os.',
    notIdParameter: 'O parâmetro $field deve ser um identificador (UUID), como a API o mostrou.',
    notAttempt: 'O parâmetro $field deve ser o id de uma tentativa, como a lista o mostrou.',
    requiredParameter: 'O parâmetro $field é obrigatório.',
    repeatedParameter: 'O parâmetro $field aparece mais de uma vez no endereço. Informe-o uma só vez.',
    tooLongParameter: 'O parâmetro $field passa do limite de $limit caracteres.',
    wrongParameter: 'O parâmetro $field tem um valor que não é aceito. Veja os valores na descrição da rota (/docs).',
    notOneOfParameter: 'O parâmetro $field deve ser um destes: $values.',
    // Console
    passwordShort: 'A senha deve ter de $least a $most caracteres. Uma frase de quatro palavras serve bem.',
    passwordGuessable: 'A senha é fácil de adivinhar. Use uma frase que só você conhece, sem o seu nome nem o seu e-mail.',
    wrongCode: 'O código do aplicativo não confere. Espere o próximo e confira o relógio do celular.',
    wrongPassword: 'A senha atual não confere. Digite-a de novo.',
    badSecret: 'A chave do aplicativo de códigos não é a que foi mostrada. Recarregue a página.',
    badSetting: 'A configuração $field não foi aceita: $reason.',
    badLogo: 'Logotipo recusado. $reason.',
    badRange: '"$range" não é um IP nem uma faixa CIDR. Exemplos: 203.0.113.7, 203.0.113.0/24, 2001:db8::/32.',
    badLifetime: 'O campo $field deve ser um prazo como 90d, 12h ou 30m, ou vazio para um token sem prazo.',
    senderAccount: 'O papel sender é de uma conta: escolha a conta, e só para este papel.',
    ownAccess: 'Ninguém muda o próprio papel nem desativa a si mesmo. Peça a outro operador.',
    lastOperator: 'É o último operador com acesso a tudo. Convide outro antes.',
    // Batches
    fileExpected: 'O corpo deve ser o arquivo, com o cabeçalho Content-Type text/csv ou application/octet-stream.',
    notTable: 'O arquivo não pôde ser lido: $reason. Salve-o de novo como CSV em UTF-8 ou como XLSX e repita.',
    tableEmpty: 'O arquivo não tem nenhuma linha abaixo do cabeçalho. A primeira linha deve ter os nomes das colunas.',
    repeatedColumn: 'A coluna "$column" aparece mais de uma vez no cabeçalho. Dê um nome a cada coluna.',
    tooManyColumns:
      'A linha $line passa do limite de $limit colunas. Remova as que o envio não usa, ou ponha entre aspas o texto que contém o separador.',
    tooManyCells:
      'A linha tem mais valores ($found) do que o cabeçalho tem colunas ($columns). Ponha entre aspas o texto que contém o separador.',
    tooManyLines: 'O arquivo passa do limite de $limit linhas por lote desta conta. Divida-o ou peça outro limite (bulk.lines).',
    columnMissing: 'O arquivo não tem a coluna "$column", que o mapeamento usa. As colunas são: $columns.',
    badMember: 'O mapeamento leva a coluna "$column" a $member, que não é um campo do envio. Veja os campos em POST /gw/email.',
    badMapping: 'O parâmetro mapping deve ser o nome de um mapeamento salvo, ou um objeto JSON como {"Coluna": "campo"}.',
    badBase: 'O parâmetro base deve ser um objeto JSON com os campos iguais em todas as linhas.',
    baseTooLarge: 'A mensagem do lote passa do limite de $limit. Reduza o conteúdo ou os anexos.',
    unknownPlaceholder: 'A mensagem usa {{ $name }}, e o arquivo não tem essa coluna. As colunas são: $columns.',
    batchName: 'O parâmetro name deve ter de 1 a 120 caracteres, sem quebras de linha.',
    mappingName: 'O nome de um mapeamento deve ter de 1 a 80 caracteres, sem { e sem quebras de linha.',
    // Idempotency
    badIdempotencyKey: 'O cabeçalho Idempotency-Key deve ter de 1 a 255 caracteres visíveis, sem acentos.',
  },
  'too-large': {
    tableTooLarge: 'O arquivo passa do limite de $limit. Divida-o em arquivos menores.',
    bodyTooLarge: 'O corpo da requisição passa do limite de $limit. Reduza os anexos ou o conteúdo.',
  },
  'too-slow': {
    tooSlow: 'A requisição demorou demais para chegar. Tente novamente.',
  },
  // The state of something stands against the request, until somebody changes that state or the request.
  conflict: {
    webhookOff: 'O webhook está desativado. Ative-o (ativo: true) e repita.',
    tooManyWebhooks: 'A conta já tem $limit webhooks, o máximo. Apague um que não use e repita.',
    tooManyListeners: 'A conta já tem $limit escutas abertas, o máximo. Encerre uma (DELETE /gw/webhooks/{id}) e repita.',
    templateNameTaken:
      'Já existe um template deste tipo com o nome "$name". Edite-o (PUT /gw/templates/$id) ou escolha outro nome.',
    sequenceChanged:
      'Outra pessoa mudou a régua da conta depois que esta tela a leu. Nada foi salvo: veja o que mudou e salve de novo.',
    operatorExists: 'Já existe um operador com o e-mail $address. Entre com a senha dele ou peça outro convite.',
    nothingToDecide: 'Nada a decidir: a situação desta entrega já é outra. Veja a linha do tempo.',
    accountNameTaken: 'Já existe uma conta com o nome "$name". Escolha outro.',
    batchChanged:
      'Este arquivo já é o do lote $id, que tem outras colunas ou outra mensagem e já começou. Para um novo envio, dê outro nome ao lote.',
    batchRechecked:
      'O lote foi conferido de novo, com outra mensagem ou outras colunas. Nada foi enviado: veja o que mudou na tela e envie de novo.',
    batchState: 'O lote está $state: $cure.',
    nothingGood: 'Nenhuma linha do lote pode ser enviada. Corrija os erros e envie o arquivo de novo.',
  },
  // The same request succeeds once the work that is under way has ended.
  'in-progress': {
    messageBusy: 'A mensagem está sendo entregue agora. Repita em alguns segundos.',
    replayInProgress:
      'Outro reenvio desde um momento está em andamento nesta conta. Espere que ele termine e repita em alguns segundos.',
    keyInProgress: 'A primeira requisição com este Idempotency-Key ainda está em andamento. Repita em alguns segundos.',
  },
  'cap-reached': {
    capReached:
      'O envio passaria do teto de R$ $cap de custo estimado deste mês (cost.month.cap). Nada foi enviado. Espere o próximo mês ou peça um teto maior.',
  },
  limited: {
    tooManyPolls: 'A conta já espera em $limit escutas ao mesmo tempo, o máximo. Aguarde uma delas responder.',
    tooManyStreams: 'O console já está aberto em $limit abas com o seu acesso, o máximo. Feche as que não usa.',
    tooManyRequests: 'Too Many Requests',
    tooManyGuesses: 'Tentativas demais. Espere $wait e tente de novo.',
  },
  missing: {
    batchMissing: 'Lote não encontrado. Verifique o identificador.',
    mappingMissing: 'Não há um mapeamento salvo com o nome "$name". Veja os salvos em GET /gw/bulk/mappings.',
    accountMissing: 'Conta não encontrada. Escolha uma da lista.',
    notificationMissing: 'Notificação não encontrada. Confira o identificador.',
    documentMissing: 'Este documento ainda não existe: ele surge depois do primeiro envio.',
    contentMissing: 'Não há este conteúdo: nada saiu por este canal, ou foi apagado.',
    simulatorMissing: 'O simulador está desligado neste servidor. Ligue-o com SIMULATOR=on e reinicie.',
    tokenMissing: 'Token não encontrado nesta conta. Recarregue a página e escolha um da lista.',
    rangeMissing: 'O endereço $range não está registrado nesta conta. Recarregue a página e escolha um da lista.',
    operatorMissing: 'Operador não encontrado. Recarregue a página e escolha um da lista.',
    invitationMissing: 'Convite não encontrado: já foi usado, venceu ou foi cancelado.',
    previewMissing: 'Não há amostra com este nome. Escolha uma na página da marca.',
    sessionMissing: 'Sessão não encontrada: ela já terminou.',
    suppressionMissing: 'O contato não está suprimido: alguém já o liberou.',
    carrierMissing: 'Operadora não encontrada. Recarregue a página.',
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
    signedOut: 'Sua sessão terminou. Entre de novo.',
    signInRefused: 'E-mail ou senha não conferem. Tente de novo.',
  },
  forbidden: {
    crossSite: 'O pedido não veio de uma página do console. Abra o console e repita.',
    roleForbidden: 'Seu papel no console não permite isto. Peça a um operador.',
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
    invitationGone: 'Este convite já foi usado ou venceu. Peça outro: carteiro operator invite.',
    linesErased: 'Os dados das linhas foram apagados ao fim do prazo em que ficam guardados (BULK_DAYS).',
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
      'Serviço temporariamente indisponível: a réplica síncrona do banco de dados não responde, e sem ela nada é aceito. Este pedido não foi gravado. Tente novamente em instantes.',
    diskLow:
      'Serviço temporariamente indisponível: resta pouco espaço em disco no servidor, e nada é aceito até que haja mais. Este pedido não foi gravado. Avise quem opera o serviço e tente novamente em alguns minutos.',
    schemaBehind:
      'Serviço temporariamente indisponível: o banco de dados espera uma migração desta versão. Execute carteiro migrate.',
    filesAway:
      'O arquivo não pôde ser lido agora: o lugar em que os arquivos ficam guardados não responde. Tente novamente em alguns minutos.',
    fileDamaged:
      'O arquivo não pode ser mostrado: o que está guardado falta ou não é mais o original (o hash não confere). Avise quem opera o serviço, que pode trazê-lo de volta de uma cópia.',
    certificateOver:
      'O documento não pode ser assinado agora: o certificado que assina os documentos não está em vigor. Avise quem opera o serviço, que deve pôr um certificado em vigor no lugar dele (SIGNATURE_P12_FILE ou SIGNATURE_PKCS11), e tente novamente.',
    stopping: 'O servidor está encerrando. Tente novamente em instantes.',
    simulatorAway: 'O simulador não responde. Verifique se ele está no ar e repita.',
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
/** For the catalogue of errors in docs/erros.md: the messages with the names of their details. */
export const refusalTexts = kinds.flatMap(([kind, texts]) => Object.entries(texts).map(([code, text]) => ({ kind, code, text })))
const refusals = new Map(refusalTexts.map(refusal => [refusal.code, refusal]))

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

/**
 * The files outside of the database cannot be reached now. The message is Portuguese. What waits for the database to come back waits for
 * them in the same way.
 */
export class FilesUnavailable extends StoreUnavailable {
  constructor(message: string, cause?: unknown) {
    super(cause, { reachable: true, message })
  }
}

/** A file outside of the database is missing, or is not the one that was stored. The message is Portuguese. */
export class FileDamaged extends Error {
  override readonly name = 'FileDamaged'
  readonly sha256: string
  readonly isMissing: boolean

  constructor(sha256: string, object: string, isMissing: boolean) {
    const what = isMissing ? 'não está onde deveria' : 'não é mais o que foi guardado: o hash não confere'
    super(`O arquivo ${object} ${what}.`)
    this.sha256 = sha256
    this.isMissing = isMissing
  }
}

/** A mistake of the operator: shown as one sentence, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
