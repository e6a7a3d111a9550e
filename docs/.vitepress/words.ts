import type { DefaultTheme } from 'vitepress'

/** What the theme says in English by itself. */
export const portugueseWords: DefaultTheme.Config = {
  outline: { level: [2, 3], label: 'Nesta página' },
  docFooter: { prev: 'Anterior', next: 'Próxima' },
  darkModeSwitchLabel: 'Aparência',
  lightModeSwitchTitle: 'Mudar para o tema claro',
  darkModeSwitchTitle: 'Mudar para o tema escuro',
  sidebarMenuLabel: 'Menu',
  returnToTopLabel: 'Voltar ao topo',
  langMenuLabel: 'Idioma',
  skipToContentLabel: 'Ir para o conteúdo',
  notFound: {
    title: 'Página não encontrada',
    quote: 'Este endereço não existe no guia. Procure pelo assunto na busca.',
    linkLabel: 'Ir para o início do guia',
    linkText: 'Início do guia',
  },
}

export const englishWords: DefaultTheme.Config = { outline: { level: [2, 3] } }

export const searchWords: NonNullable<DefaultTheme.LocalSearchOptions['translations']> = {
  button: { buttonText: 'Buscar', buttonAriaLabel: 'Buscar no guia' },
  modal: {
    displayDetails: 'Mostrar a lista com trechos',
    resetButtonTitle: 'Limpar a busca',
    backButtonTitle: 'Fechar a busca',
    noResultsText: 'Nada encontrado para',
    footer: {
      selectText: 'abrir',
      selectKeyAriaLabel: 'enter',
      navigateText: 'escolher',
      navigateUpKeyAriaLabel: 'seta para cima',
      navigateDownKeyAriaLabel: 'seta para baixo',
      closeText: 'fechar',
      closeKeyAriaLabel: 'esc',
    },
  },
}
