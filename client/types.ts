// Written from the description of the interface by `npm run write-client`.

export type Channel = 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'

/** What an event announces. */
export type Situation =
  | 'enviado'
  | 'entregue'
  | 'lido'
  | 'confirmado'
  | 'link_acessado'
  | 'respondido'
  | 'gravado'
  | 'falhou'
  | 'cancelado'
  | 'em_verificacao'
  | 'retomado'
  | 'em_producao'
  | 'preparado'

/** The status record of each channel. Dates are those of Brasília, dd/MM/yyyy HH:mm:ss. */
export interface ChannelStatuses {
  email: {
    /** Envio ("" enquanto não aconteceu). */
    dateSend: string
    /** Entrega ("" enquanto não aconteceu). */
    dateDelivery: string
    /** Primeira leitura (null enquanto não aconteceu). */
    dateReading: string | null
    /** Confirmação do recebimento (null enquanto não aconteceu). */
    dateAcceptance: string | null
    /** true: falhou, e este canal não tenta mais. */
    error: boolean
    /** A situação de agora, para pessoas. */
    description: string
    /** Por que o endereço foi recusado antes do envio, em poucas palavras (null: não foi). */
    failureReason: string | null
    /** O mesmo por extenso, e o que fazer. */
    failureReasonDescription: string | null
    /** A referência dada no envio. */
    customID: string | null
    /** O identificador da notificação. */
    idEmail: string
  }
  sms: {
    /** Envio ("" enquanto não aconteceu). */
    dateSend: string
    /** Leitura, pelo acesso ao link (null enquanto não aconteceu). */
    dateReading: string | null
    /** A situação de agora, para pessoas. */
    description: string
    /** Primeira resposta (null enquanto não aconteceu). */
    dateAnswered: string | null
    /** Respostas, da mais antiga à mais nova. */
    answered: string[]
    /** Por que falhou, e o que fazer; presente só depois que falhou. */
    failureReason?: string
  }
  whatsapp: {
    /** A situação de agora, para pessoas. */
    description: string
    /** Envio (ausente enquanto não aconteceu). */
    dateSent?: string
    /** Entrega (ausente enquanto não aconteceu). */
    dateDelivery?: string
    /** Resposta (ausente enquanto não aconteceu). */
    dateResponse?: string
    /** Acesso ao link (ausente enquanto não aconteceu). */
    dateAccessLink?: string
    /** true: falhou, e este canal não tenta mais. */
    error: boolean
    /** Por que falhou (null: não falhou). */
    failureReason: string | null
    /** A referência dada no envio. */
    customID: string | null
    /** O identificador da notificação. */
    idEmail: string
  }
  voz: {
    /** Chamada (ausente enquanto não aconteceu). */
    dateSent?: string
    /** Chamada atendida (ausente enquanto não aconteceu). */
    dateSuccessCall?: string
    /** Chamada que falhou; nunca junto de dateSuccessCall (ausente enquanto não aconteceu). */
    dateFailureCall?: string
    /** A situação de agora, para pessoas. */
    description: string
    /** Gravação da ligação, quando há (ausente até lá). */
    linkCall?: string
    /** Por que falhou, e o que fazer; presente só depois que falhou. */
    failureReason?: string
  }
  carta: {
    /** A situação de agora, para pessoas. */
    description: string
    /** true: falhou, e este canal não tenta mais. */
    error: boolean
    /** Processamento (ausente enquanto não aconteceu). */
    dateProcessing?: string
    /** Preparação (ausente enquanto não aconteceu). */
    datePreparation?: string
    /** Postagem (ausente enquanto não aconteceu). */
    dateSent?: string
    /** Entrega (ausente enquanto não aconteceu). */
    dateDelivery?: string
    /** Código de rastreamento, desde que os Correios o informam (ausente até lá). */
    sro?: string
    /** Comprovante em PDF, desde o processamento (ausente até lá). */
    linkSvcCartaComprovante?: string
    /** O mesmo endereço, pelo nome que clientes existentes leem (ausente até lá). */
    linkArCartaComprovante?: string
    /** Página de rastreamento, desde que há sro (ausente até lá). */
    linkRastreio?: string
    /** Por que falhou, e o que fazer; presente só depois que falhou. */
    failureReason?: string
  }
}

export interface SendRequest {
  /** Nome do destinatário. */
  nameTo: string
  /** Assunto da mensagem. */
  subject: string
  /** Conteúdo da mensagem em HTML, com algum texto ou imagem. */
  content: string
  /** Referência externa, devolvida nas consultas. Até 255 caracteres. */
  customID?: string | null
  /** Arquivos que vão com a mensagem. */
  attachments?: {
    /** Nome do arquivo, sem caminho. */
    name: string
    /** O arquivo em base64, sem o prefixo data:. */
    base64: string
  }[] | null
  /** Extensão: nada sai antes deste momento, até 90 dias à frente: ISO 8601 com fuso (2026-12-01T09:00:00-03:00) ou hora de Brasília (01/12/2026 09:00). Ausente: sai na hora. */
  sendAt?: string | null
  /** Extensão: true repete a mensagem a quem já recebeu a mesma há pouco. Ausente ou false: a repetição fica sem enviar. */
  allowDuplicate?: boolean | null
  /** Proteção por pergunta e resposta. Exige habilitação da conta. */
  validation?: {
    /** A pergunta que o destinatário vê antes de ler. */
    question: string
    /** A resposta certa. Acentos, maiúsculas, espaços e pontuação não contam. */
    reply: string
  } | null
  /** E-mail do destinatário. Obrigatório quando o envio é somente por e-mail. */
  to?: string | null
  /** Extensão: template do e-mail (id, templateId ou nome). O e-mail leva o template preenchido; a página do destinatário continua com content. */
  template?: string | null
  /** Extensão: valores das variáveis do template do e-mail: textos, números, true ou false. */
  variables?: Record<string, unknown> | null
  /** O SMS deste envio. */
  sms?: {
    /** Celular, só dígitos. */
    number: string
    /** '1': só se o e-mail não for enviado ou entregue, com qualquer régua. '2': sempre. Ausente: segue a régua; sem ela, '1'. */
    typeSend?: '1' | '2' | null
    /** Texto próprio, até 140 caracteres; aceita {SHORT_LINK}, separado por espaços. Em branco: o texto do serviço. */
    customMessage?: string | null
    /** Extensão: template do SMS (id, templateId ou nome), em lugar de customMessage. Preenchido, até 918 caracteres. */
    template?: string | null
    /** Extensão: valores das variáveis do template: textos, números, true ou false. */
    variables?: Record<string, unknown> | null
  } | null
  /** A mensagem de WhatsApp deste envio. */
  whatsapp?: {
    /** Celular, só dígitos. */
    number: string
    /** O template (template: id, templateId ou nome) e os valores das variáveis dele: textos, números, true ou false. */
    variables?: Record<string, unknown> | null
  } | null
  /** A ligação deste envio. */
  voz?: {
    /** Celular ou fixo, só dígitos. */
    number: string
    /** Template da ligação (id, templateId ou nome). Sem ele não há o que falar, e ninguém é chamado. */
    template?: string | null
    /** Valores das variáveis do template: textos, números, true ou false. */
    payload?: Record<string, unknown> | null
  } | null
  /** A carta deste envio. */
  carta?: {
    /** Nome no envelope, até 255 caracteres. Ausente: nameTo. */
    name?: string | null
    /** registrada ou simples; padrao é outro nome de simples, o modelo de quem não informa nenhum. */
    modelo?: string | null
    /** Template da carta (id, templateId ou nome). Sem ele, a carta imprime content. */
    template?: string | null
    /** Endereço e variáveis do template: textos, números, true ou false. */
    variables?: Record<string, unknown> | null
  } | null
}

export interface SendAnswer {
  /** O identificador da notificação, para todas as consultas. */
  idEmail: string
}

export interface FullStatus {
  /** O número da notificação, para quem prefere um número ao idEmail. */
  codEmail: number
  /** O caminho por cada canal do envio. */
  statusFull: {
    /** Por e-mail, da primeira situação à última. */
    email?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
    }[]
    /** Por SMS, da primeira situação à última. */
    sms?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
    }[]
    /** Por WhatsApp, da primeira situação à última. */
    whatsapp?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
    }[]
    /** Por ligação, da primeira situação à última. */
    voz?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
    }[]
    /** Por carta, da primeira situação à última. */
    carta?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
    }[]
  }
  /** A situação de agora em cada canal do envio. */
  lastStatus: {
    /** Por e-mail. */
    email?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
      /** Por que falhou; presente só depois que falhou. */
      reason?: string
    }
    /** Por SMS. */
    sms?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
      /** Por que falhou; presente só depois que falhou. */
      reason?: string
    }
    /** Por WhatsApp. */
    whatsapp?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
      /** Por que falhou; presente só depois que falhou. */
      reason?: string
    }
    /** Por ligação. */
    voz?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
      /** Por que falhou; presente só depois que falhou. */
      reason?: string
    }
    /** Por carta. */
    carta?: {
      /** A situação, para pessoas. */
      label: string
      /** Desde quando vale. */
      dateTime: string
      /** Por que falhou; presente só depois que falhou. */
      reason?: string
    }
  }
  /** A consulta por e-mail; vazia se o envio não usou este canal. */
  email: {
    /** Respostas, da mais antiga à mais nova; presente só depois da primeira. */
    answered?: string[]
    /** Envio ("" enquanto não aconteceu). */
    dateSend: string
    /** Entrega ("" enquanto não aconteceu). */
    dateDelivery: string
    /** Primeira leitura (null enquanto não aconteceu). */
    dateReading: string | null
    /** Confirmação do recebimento (null enquanto não aconteceu). */
    dateAcceptance: string | null
    /** true: falhou, e este canal não tenta mais. */
    error: boolean
    /** A situação de agora, para pessoas. */
    description: string
    /** Por que o endereço foi recusado antes do envio, em poucas palavras (null: não foi). */
    failureReason: string | null
    /** O mesmo por extenso, e o que fazer. */
    failureReasonDescription: string | null
    /** A referência dada no envio. */
    customID: string | null
    /** O identificador da notificação. */
    idEmail: string
  }[]
  /** A consulta por SMS; vazia se o envio não usou este canal. */
  sms: {
    /** Respostas, da mais antiga à mais nova. */
    answered: string[]
    /** Envio ("" enquanto não aconteceu). */
    dateSend: string
    /** Leitura, pelo acesso ao link (null enquanto não aconteceu). */
    dateReading: string | null
    /** A situação de agora, para pessoas. */
    description: string
    /** Primeira resposta (null enquanto não aconteceu). */
    dateAnswered: string | null
    /** Por que falhou, e o que fazer; presente só depois que falhou. */
    failureReason?: string
    /** Partes em que o SMS saiu, cada uma cobrada pela operadora; presente só depois do envio. */
    segments?: number
  }[]
  /** A consulta por WhatsApp; vazia se o envio não usou este canal. */
  whatsapp: {
    /** Respostas, da mais antiga à mais nova; presente só depois da primeira. */
    answered?: string[]
    /** A situação de agora, para pessoas. */
    description: string
    /** Envio (ausente enquanto não aconteceu). */
    dateSent?: string
    /** Entrega (ausente enquanto não aconteceu). */
    dateDelivery?: string
    /** Resposta (ausente enquanto não aconteceu). */
    dateResponse?: string
    /** Acesso ao link (ausente enquanto não aconteceu). */
    dateAccessLink?: string
    /** true: falhou, e este canal não tenta mais. */
    error: boolean
    /** Por que falhou (null: não falhou). */
    failureReason: string | null
    /** A referência dada no envio. */
    customID: string | null
    /** O identificador da notificação. */
    idEmail: string
  }[]
  /** A consulta por ligação; vazia se o envio não usou este canal. */
  voz: {
    /** Respostas, da mais antiga à mais nova; presente só depois da primeira. */
    answered?: string[]
    /** Chamada (ausente enquanto não aconteceu). */
    dateSent?: string
    /** Chamada atendida (ausente enquanto não aconteceu). */
    dateSuccessCall?: string
    /** Chamada que falhou; nunca junto de dateSuccessCall (ausente enquanto não aconteceu). */
    dateFailureCall?: string
    /** A situação de agora, para pessoas. */
    description: string
    /** Gravação da ligação, quando há (ausente até lá). */
    linkCall?: string
    /** Por que falhou, e o que fazer; presente só depois que falhou. */
    failureReason?: string
  }[]
  /** A consulta por carta; vazia se o envio não usou este canal. */
  carta: {
    /** Respostas, da mais antiga à mais nova; presente só depois da primeira. */
    answered?: string[]
    /** A situação de agora, para pessoas. */
    description: string
    /** true: falhou, e este canal não tenta mais. */
    error: boolean
    /** Processamento (ausente enquanto não aconteceu). */
    dateProcessing?: string
    /** Preparação (ausente enquanto não aconteceu). */
    datePreparation?: string
    /** Postagem (ausente enquanto não aconteceu). */
    dateSent?: string
    /** Entrega (ausente enquanto não aconteceu). */
    dateDelivery?: string
    /** Código de rastreamento, desde que os Correios o informam (ausente até lá). */
    sro?: string
    /** Comprovante em PDF, desde o processamento (ausente até lá). */
    linkSvcCartaComprovante?: string
    /** O mesmo endereço, pelo nome que clientes existentes leem (ausente até lá). */
    linkArCartaComprovante?: string
    /** Página de rastreamento, desde que há sro (ausente até lá). */
    linkRastreio?: string
    /** Por que falhou, e o que fazer; presente só depois que falhou. */
    failureReason?: string
  }[]
  /** O que prova a situação. */
  evidencias: {
    /** Quantos eventos há na cadeia. */
    eventos: number
    /** O hash do último evento (SHA-256). */
    ultimoHash: string
    /** O que aconteceu em cada canal, e de quem é a palavra. */
    fatos: {
      /** A ordem na cadeia de eventos. */
      seq: number
      /** O canal. */
      canal: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
      /** A situação, para pessoas. */
      label: string
      /** Quando foi registrado. */
      dateTime: string
      /** O que o evento prova. */
      prova: {
        /** De quem é a palavra, para programas. */
        grau: 'remetente' | 'sistema' | 'operador' | 'operadora' | 'operadora-assinada' | 'aparelho' | 'resposta-certa' | 'resposta'
        /** O mesmo, para pessoas. */
        descricao: string
        /** Por que o acesso é tido como o de um programa; ausente se nada o indica. */
        sinaisDeMaquina?: string[]
        /** true: veio do simulador, e nada disso aconteceu no mundo. */
        simulado?: boolean
      }
    }[]
  }
}

export interface TimelineEvent {
  /** A ordem na cadeia de eventos. */
  seq: number
  /** Quando foi registrado. */
  dateTime: string
  /** Quando aconteceu, segundo a origem, se foi antes de outro evento já registrado. */
  occurredAt?: string
  /** O tipo, para programas. */
  type: string
  /** O mesmo, para pessoas. */
  label: string
  /** O canal. */
  canal?: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
  /** De quem é a informação: a API, uma operadora, o destinatário, a régua, um operador. */
  origem: string
  /** O número da tentativa de envio, a partir de 1. */
  tentativa?: number
  /** A conexão pela qual foi. */
  operadora?: string
  /** Por quê. */
  motivo?: string
  /** A resposta da operadora, como veio. */
  respostaOperadora?: string
  /** O texto que o destinatário escreveu. */
  respostaDestinatario?: string
  /** O que o evento prova. */
  prova: {
    /** De quem é a palavra, para programas. */
    grau: 'remetente' | 'sistema' | 'operador' | 'operadora' | 'operadora-assinada' | 'aparelho' | 'resposta-certa' | 'resposta'
    /** O mesmo, para pessoas. */
    descricao: string
    /** Por que o acesso é tido como o de um programa; ausente se nada o indica. */
    sinaisDeMaquina?: string[]
    /** true: veio do simulador, e nada disso aconteceu no mundo. */
    simulado?: boolean
  }
  /** O hash do evento na cadeia (SHA-256). */
  hash: string
  /** O que mais se sabe. Vazio também quando os dados foram apagados. */
  detalhes: Record<string, unknown>
}

export interface NextStep {
  /** O canal. */
  canal: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
  /** null na espera da condição `falhou`: a etapa acontece quando as anteriores falharem, sem data marcada. */
  dataPrevista: string | null
  /** O que precisa valer nas etapas anteriores para esta acontecer. */
  condicao: string
  /** Por que as regras de contato a fazem esperar. Ausente: não fazem. */
  motivo?: string
  /** O mesmo, para pessoas. */
  descricao: string
}

export interface FinalizeAnswer {
  /** Sempre a mesma frase. */
  message: string
}

export interface NotificationSummary {
  /** O identificador que o envio devolveu. */
  idEmail: string
  /** O número da notificação, para quem prefere um número ao idEmail. */
  codEmail: number
  /** A referência dada no envio. */
  customID: string | null
  /** null: foi apagado. */
  nameTo: string | null
  /** null: foi apagado. */
  subject: string | null
  /** Quando foi aceita. */
  criadoEm: string
  /** Os canais do envio, cada um com a sua situação. */
  canais: {
    /** O canal. */
    canal: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
    /** null: foi apagado, ou não foi dado. */
    destinatario: string | null
    /** O estado do envio por este canal, agora. */
    estado: 'waiting' | 'queued' | 'sending' | 'uncertain' | 'unresolved' | 'done' | 'dead' | 'cancelled'
    /** A situação, para pessoas. */
    label: string
    /** Desde quando vale. */
    dateTime: string
    /** Por que falhou; presente só depois que falhou. */
    reason?: string
  }[]
}

export interface NotificationsQuery {
  /** A referência dada no envio, inteira. */
  customID?: string
  /** O contato do canal, inteiro: o e-mail, o número (só dígitos) ou o `name` dado ao canal. Não procura em `nameTo`. */
  recipient?: string
  /** Um canal: email, sms, whatsapp, voz, carta. */
  channel?: string
  /** O que já aconteceu (enviado, entregue, lido, confirmado, link_acessado, respondido, gravado, falhou, cancelado, em_verificacao, retomado, em_producao, preparado) ou o estado de agora (waiting, queued, sending, uncertain, unresolved, done, dead, cancelled). */
  status?: string
  /** Aceitas desde. Um dia de Brasília (2026-07-18) ou um momento em ISO 8601 com fuso. */
  from?: string
  /** Aceitas até: um dia conta inteiro, um momento não conta. Um dia de Brasília (2026-07-18) ou um momento em ISO 8601 com fuso. */
  to?: string
  /** O `cursor` da página anterior. */
  cursor?: string
}

export interface SendingProof {
  /** O comprovante: um PDF, em base64. */
  content?: string
  /** Por que não há comprovante; presente só enquanto não há. */
  message?: string
}

export interface Template {
  /** O identificador público do template. */
  id: string
  /** Identificador próprio, seu ou da operadora. */
  templateId: string | null
  /** O nome, único por tipo. */
  nome: string
  /** O canal. */
  tipo: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
  /** Liquid: {{ nome }}. */
  conteudo: string
  /** As variáveis do conteúdo. */
  variaveis: {
    /** Como aparece no conteúdo: {{ nome }}. */
    nome: string
    /** true: um envio sem o valor dela é recusado. */
    obrigatoria: boolean
  }[]
  /** true: as outras contas da entidade podem usar o template. */
  compartilhadoComEntidade: boolean
  /** false: novos envios não podem usá-lo. */
  ativo: boolean
  /** Sobe a cada mudança do conteúdo. */
  versao: number
  /** Criação (ISO 8601, horário de Brasília). */
  criadoEm: string
  /** Última mudança (ISO 8601, horário de Brasília). */
  atualizadoEm: string
  /** O nome da conta que o criou. */
  criadoPor: string
  /** Dados seus, guardados como vierem. */
  metadata: Record<string, unknown>
  /** Extensão: o que convém rever no texto, que é aceito assim mesmo. Ausente: nada. */
  avisos?: string[]
  /** true: criado com um token de teste e visível só a eles. Ausente nos da conta. */
  teste?: boolean
}

export interface TemplatesQuery {
  /** 1 WhatsApp, 2 e-mail, 3 SMS, 4 carta, 5 ligação. */
  type?: string
  /** O id do último template da página anterior. O cabeçalho Link traz o endereço. */
  cursor?: string
  /** Templates por página, até 500. */
  limit?: string
}

export interface NewTemplate {
  /** O nome, único por tipo. */
  nome: string
  /** O canal. */
  tipo: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
  /** A mensagem, com variáveis em Liquid: {{ nome }}. */
  conteudo: string
  /** Identificador próprio, seu ou da operadora. */
  templateId?: string | null
  /** As variáveis do conteúdo. Se ausente ao criar: as que o conteúdo usa, todas obrigatórias. */
  variaveis?: {
    /** Como aparece no conteúdo: {{ nome }}. */
    nome: string
    /** true: um envio sem o valor dela é recusado. */
    obrigatoria: boolean
  }[] | null
  /** true: as outras contas da entidade podem usar o template. */
  compartilhadoComEntidade?: boolean | null
  /** Dados seus, guardados como vierem. */
  metadata?: Record<string, unknown> | null
}

export interface TemplateEdit {
  /** O novo nome. Ausente: fica como está. */
  nome?: string | null
  /** O novo conteúdo, que vira uma nova versão. Ausente: fica como está. */
  conteudo?: string | null
  /** Identificador próprio, seu ou da operadora. */
  templateId?: string | null
  /** As variáveis do conteúdo. Se ausente ao criar: as que o conteúdo usa, todas obrigatórias. */
  variaveis?: {
    /** Como aparece no conteúdo: {{ nome }}. */
    nome: string
    /** true: um envio sem o valor dela é recusado. */
    obrigatoria: boolean
  }[] | null
  /** true: as outras contas da entidade podem usar o template. */
  compartilhadoComEntidade?: boolean | null
  /** Dados seus, guardados como vierem. */
  metadata?: Record<string, unknown> | null
}

export interface TemplatePreview {
  /** O conteúdo preenchido. */
  conteudo: string
}

export interface Sequence {
  /** Na ordem em que acontecem. Vazia: não há régua, e todos os canais saem juntos. */
  etapas: {
    /** O canal. */
    canal: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
    /** Minutos depois da etapa anterior. */
    esperaMinutos: number
    /** A etapa só acontece se, nas anteriores, isto ainda valer. */
    condicao: 'sempre' | 'falhou' | 'nao_entregue' | 'nao_lido' | 'nao_confirmado'
  }[]
}

export interface Webhook {
  /** O identificador do webhook. */
  id: string
  /** Para onde vão os avisos. */
  url: string
  /** O formato dos avisos. */
  versao: 'v1' | 'v2'
  /** Vazia: todos os canais. */
  canais: ('email' | 'sms' | 'whatsapp' | 'voz' | 'carta')[]
  /** Vazia: todas as situações. */
  situacoes: ('enviado' | 'entregue' | 'lido' | 'confirmado' | 'link_acessado' | 'respondido' | 'gravado' | 'falhou' | 'cancelado' | 'em_verificacao' | 'retomado' | 'em_producao' | 'preparado')[]
  /** false: nada é entregue, e o que acontece fica guardado. */
  ativo: boolean
  /** Por que está desativado: manual, 410 ou falhas. */
  motivo: string | null
  /** O que há de errado e como reparar. */
  aviso: string | null
  /** Primeira falha desde a última entrega. */
  falhandoDesde: string | null
  /** Até quando o segredo anterior também assina. */
  segredoAnteriorAte: string | null
  /** Mensagens que ainda esperam entrega; a contagem para em 10.000. */
  pendentes: number
  /** Quando foi criada a mais antiga das que foram contadas. */
  pendenteDesde: string | null
  /** Criação (ISO 8601, horário de Brasília). */
  criadoEm: string
}

export interface NewWebhook {
  /** Para onde vão os avisos, por https. */
  url: string
  /** O formato dos avisos. Padrão: v1. */
  versao?: 'v1' | 'v2' | null
  /** Vazia: todos os canais. */
  canais?: ('email' | 'sms' | 'whatsapp' | 'voz' | 'carta')[] | null
  /** Vazia: todas as situações. */
  situacoes?: ('enviado' | 'entregue' | 'lido' | 'confirmado' | 'link_acessado' | 'respondido' | 'gravado' | 'falhou' | 'cancelado' | 'em_verificacao' | 'retomado' | 'em_producao' | 'preparado')[] | null
}

export interface WebhookWithSecret {
  /** O identificador do webhook. */
  id: string
  /** Para onde vão os avisos. */
  url: string
  /** O formato dos avisos. */
  versao: 'v1' | 'v2'
  /** Vazia: todos os canais. */
  canais: ('email' | 'sms' | 'whatsapp' | 'voz' | 'carta')[]
  /** Vazia: todas as situações. */
  situacoes: ('enviado' | 'entregue' | 'lido' | 'confirmado' | 'link_acessado' | 'respondido' | 'gravado' | 'falhou' | 'cancelado' | 'em_verificacao' | 'retomado' | 'em_producao' | 'preparado')[]
  /** false: nada é entregue, e o que acontece fica guardado. */
  ativo: boolean
  /** Por que está desativado: manual, 410 ou falhas. */
  motivo: string | null
  /** O que há de errado e como reparar. */
  aviso: string | null
  /** Primeira falha desde a última entrega. */
  falhandoDesde: string | null
  /** Até quando o segredo anterior também assina. */
  segredoAnteriorAte: string | null
  /** Mensagens que ainda esperam entrega; a contagem para em 10.000. */
  pendentes: number
  /** Quando foi criada a mais antiga das que foram contadas. */
  pendenteDesde: string | null
  /** Criação (ISO 8601, horário de Brasília). */
  criadoEm: string
  /** Mostrado só nesta resposta. Guarde-o. */
  segredo: string
}

export interface WebhookEdit {
  /** O novo endereço. Ausente: fica como está. */
  url?: string | null
  /** O formato dos avisos. Padrão: v1. */
  versao?: 'v1' | 'v2' | null
  /** Vazia: todos os canais. */
  canais?: ('email' | 'sms' | 'whatsapp' | 'voz' | 'carta')[] | null
  /** Vazia: todas as situações. */
  situacoes?: ('enviado' | 'entregue' | 'lido' | 'confirmado' | 'link_acessado' | 'respondido' | 'gravado' | 'falhou' | 'cancelado' | 'em_verificacao' | 'retomado' | 'em_producao' | 'preparado')[] | null
  /** true ativa, false desativa. Ausente: fica como está. */
  ativo?: boolean | null
}

export interface WebhookTest {
  /** O webhook-id do evento de teste. */
  mensagem: string
}

export interface WebhookAttempt {
  /** O número da tentativa, para pedir a página seguinte. */
  id: number
  /** O webhook-id; peça o reenvio por ele. */
  mensagem: string
  /** A quantas tentativas desta mensagem, a partir de 1. */
  tentativa: number
  /** Quando começou (ISO 8601, horário de Brasília). */
  em: string
  /** Quanto durou, em milissegundos. */
  duracaoMs: number
  /** true: o servidor respondeu que recebeu. */
  recebido: boolean
  /** Por que falhou. */
  erro: string | null
  /** O idEmail da notificação. */
  notificationID: string
  /** O canal. */
  canal: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
  /** Da mensagem, agora. */
  estado: 'na_fila' | 'em_entrega' | 'entregue' | 'esgotada' | 'guardada'
  /** O que foi enviado. */
  requisicao: {
    /** Para onde foi. */
    url: string
    /** Um por linha, sem a assinatura. */
    cabecalhos: string
    /** O aviso. null: o evento foi apagado. */
    corpo: string | null
  }
  /** O que o servidor respondeu. null: não houve resposta. */
  resposta: {
    /** O código HTTP. */
    status: number
    /** Um por linha. */
    cabecalhos: string
    /** O começo do corpo. */
    corpo: string
  } | null
}

export interface AttemptsQuery {
  /** Só tentativas anteriores a esta (id): a página seguinte. */
  antesDe?: string
  /** Só desta mensagem. */
  mensagem?: string
  /** true: só as que falharam. */
  somenteFalhas?: 'true' | 'false'
}

export interface Batch {
  /** O identificador do lote. */
  id: string
  /** O nome do lote. */
  nome: string
  /** A situação, para programas: receiving (recebendo), checking (conferindo), checked (conferido), sending (enviando), paused (pausado), done (concluído), cancelled (cancelado). */
  situacao: 'receiving' | 'checking' | 'checked' | 'sending' | 'paused' | 'done' | 'cancelled'
  /** Linhas do arquivo, sem o cabeçalho. */
  total: number
  /** Linhas já conferidas. */
  conferidas: number
  /** Linhas que podem ser enviadas. */
  boas: number
  /** Linhas que não serão enviadas, por um erro. */
  rejeitadas: number
  /** Linhas que já são notificações. */
  aceitas: number
  /** Linhas que eram boas e foram recusadas na hora de enviar. */
  falhas: number
  /** Linhas por minuto desde o início ou a última retomada; null: não está em envio. */
  porMinuto: number | null
  /** Segundos que faltam, nesse ritmo; null: não se sabe. */
  segundosRestantes: number | null
  /** O que cada coluna preenche. */
  colunas: {
    /** O nome da coluna, como o arquivo o tem. */
    coluna: string
    /** Os campos de POST /gw/email que a coluna preenche; vazia: a coluna não é usada. */
    campos: string[]
  }[]
  /** O resumo SHA-256 do arquivo. */
  arquivoSha256: string | null
  /** Recebimento do arquivo (ISO 8601, horário de Brasília). */
  criadoEm: string
  /** Início do envio (ISO 8601, horário de Brasília); null: ainda não. */
  iniciadoEm: string | null
  /** Fim (ISO 8601, horário de Brasília); null: ainda não. */
  terminadoEm: string | null
  /** Por que o lote foi pausado ou cancelado sem que alguém pedisse: o teto do mês foi alcançado, ou o prazo passou. null: não foi o caso. */
  motivo: string | null
  /** Os primeiros 20 erros; todos estão em rejects. */
  erros: {
    /** O número da linha no arquivo; o cabeçalho é a linha 1. */
    linha: number
    /** A coluna, como o arquivo a chama; null: nenhuma em particular. */
    coluna: string | null
    /** O que há de errado e o que fazer. */
    erro: string
  }[]
}

export interface BatchForm {
  /** O campo do envio que cada coluna preenche: {"Nome completo": "nameTo"}, ou uma lista deles. Ausente: pelos nomes. */
  mapping?: Record<string, unknown> | null
  /** Os campos de POST /gw/email iguais em todas as linhas. Nos textos, {{ Coluna }} dá lugar ao valor da linha. */
  base?: Record<string, unknown> | null
}

export interface BulkMapping {
  /** O nome do mapeamento. */
  nome: string
  /** O que cada coluna preenche; null: pelos nomes das colunas. */
  mapping: Record<string, unknown> | null
  /** O que é igual em todas as linhas. */
  base: Record<string, unknown>
  /** Última mudança (ISO 8601, horário de Brasília). */
  alteradoEm: string
}

export interface Usage {
  /** O mês, de Brasília. */
  mes: string
  /** A soma dos custos estimados, em reais. */
  custoEstimado: number
  /** O teto do mês, em reais (`cost.month.cap`); null: não há. */
  teto: number | null
  /** O que os envios aceitos no mês já ocupam do teto, em reais: 0 onde não há teto. */
  comprometido: number
  /** Por canal e operadora. */
  itens: {
    /** O canal. */
    canal: 'email' | 'sms' | 'whatsapp' | 'voz' | 'carta'
    /** A operadora que levou as mensagens. */
    operadora: string
    /** Mensagens que a operadora aceitou. */
    mensagens: number
    /** O que a operadora cobra. e-mail: mensagens; SMS: partes; WhatsApp: mensagens; ligação: ligações; carta: páginas. */
    unidades: number
    /** O nome da unidade. */
    unidade: string
    /** Em reais, pelos preços do momento de cada envio. */
    custoEstimado: number
  }[]
}

export interface ReplayRequest {
  /** Uma mensagem só. */
  mensagem?: string | null
  /** Todas as criadas desde este momento (ISO 8601). */
  desde?: string | null
  /** E antes deste; se ausente, até agora. */
  ate?: string | null
  /** true: só as que não foram entregues. */
  somenteFalhas?: boolean | null
}
