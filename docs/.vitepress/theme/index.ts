import { useData } from 'vitepress'
// Without the fonts that the other one brings: the system's are there at once.
import DefaultTheme from 'vitepress/theme-without-fonts'
import { h } from 'vue'
import './style.css'

/** Leaves the guide. Without a target the guide's own router would look for a page of that name. */
const outside = (href: string, text: string) => h('a', { class: 'outside', href, target: '_self' }, text)

const OutsideLinks = () => {
  const isEnglish = useData().lang.value === 'en'
  return h('div', { class: 'outside-links' }, [
    outside('/docs', isEnglish ? 'API reference' : 'Referência da API'),
    outside('/console', 'Console'),
  ])
}

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => h(OutsideLinks),
      'nav-screen-content-after': () => h(OutsideLinks),
    }),
}
