/** The pages of the guide in the order in which they are read. A test holds it to be complete: a page that is missing here is not found. */
export interface SidebarItem {
  text: string
  link: string
}

export interface SidebarGroup {
  text: string
  items: SidebarItem[]
}

const page = (text: string, link: string): SidebarItem => ({ text, link })

const guide: SidebarGroup[] = [
  {
    text: 'Começar',
    items: [page('Cinco minutos', '/inicio'), page('Conceitos', '/conceitos'), page('Console', '/console')],
  },
  {
    text: 'Canais',
    items: [
      page('E-mail', '/email'),
      page('SMS', '/sms'),
      page('WhatsApp', '/whatsapp'),
      page('Ligação', '/voz'),
      page('Carta', '/carta'),
      page('O lado do destinatário', '/destinatario'),
    ],
  },
  {
    text: 'Enviar',
    items: [
      page('Templates', '/modelos'),
      page('Régua', '/regua'),
      page('Lotes', '/lote'),
      page('Regras de contato', '/regras-de-contato'),
      page('Agendamento e custos', '/custos'),
    ],
  },
  {
    text: 'Integrar',
    items: [
      page('Testar e simular', '/simulador'),
      page('Cliente TypeScript e coleção', '/cliente'),
      page('Linha de comando', '/comandos'),
      page('Erros', '/erros'),
      page('Webhooks', '/webhooks'),
      page('Limites e endereços', '/limites'),
    ],
  },
  {
    text: 'Provas',
    items: [page('Provas, para advogados', '/provas-para-advogados'), page('Evidências: formato e conferência', '/evidence')],
  },
  {
    text: 'Operar',
    items: [
      page('Ir para produção', '/producao'),
      page('Instalação: pacotes e proxy', '/instalacao'),
      page('Configurações', '/configuracoes'),
      page('Contas, tokens e endereços', '/contas'),
      page('Operação', '/operacao'),
      page('Alarmes', '/alarmes'),
      page('Segurança', '/seguranca'),
      page('Desempenho', '/desempenho'),
      page('LGPD e retenção', '/lgpd'),
      page('O que cresce, e até onde', '/crescimento'),
    ],
  },
  {
    text: 'Referência',
    items: [page('Lacunas decididas', '/decisions'), page('Mudanças', '/mudancas')],
  },
]

/** The engineers' documents are in English. */
const engineering: SidebarItem[] = [
  page('Architecture', '/architecture'),
  page('Glossary', '/glossary'),
  page('Contributing', '/contributing'),
  page('Decisions (ADR)', '/adr/'),
]

export const engineers = (decisions: readonly SidebarItem[]): SidebarGroup[] => [
  { text: 'Engineers', items: engineering },
  { text: 'Decisions', items: [...decisions] },
  { text: 'Guia', items: [page('Início', '/'), page('Cinco minutos', '/inicio')] },
]

export const english: SidebarGroup[] = [
  { text: 'Start', items: [page('Overview', '/en/'), page('Five minutes', '/en/inicio')] },
  { text: 'For engineers', items: engineering },
]

export const portuguese: SidebarGroup[] = [...guide, { text: 'Para engenheiros (em inglês)', items: engineering }]
