import { html } from '../../domain/html.js'
import type { LinkEnd } from '../../domain/link.js'
import { type Brand, brandName, type Page } from './layout.js'
import { duration } from './question-page.js'

/** These pages must not reveal anything about a notification, so they have no brand. */
const plain = (title: string, text: string): Page => ({
  title,
  brand: null,
  body: html`<section class="card"><h1>${title}</h1><p>${text}</p></section>`,
})

export const unknownPage = plain(
  'Link não encontrado',
  'Este endereço não leva a nenhuma notificação. Confira se copiou o link inteiro, ou abra de novo a mensagem que você recebeu e toque no link.',
)

export const crossSitePage = plain(
  'Pedido recusado',
  'Este pedido veio de outra página. Abra de novo a mensagem que você recebeu e siga o link dela.',
)

export const failurePage = plain(
  'Não foi possível agora',
  'Algo falhou do nosso lado, e nada do que você fez se perdeu. Espere um minuto e tente de novo.',
)

export const badRequestPage = plain(
  'Pedido inválido',
  'Não foi possível ler este pedido. Volte à página anterior e tente de novo.',
)

export const tooManyGuessesPage = (lockedMs: number): Page =>
  plain(
    'Muitas tentativas',
    `Houve links errados demais a partir desta rede. Espere ${duration(lockedMs)} e abra de novo o link da sua mensagem.`,
  )

const endings: Record<LinkEnd, { title: string; text: string }> = {
  expired: { title: 'Este link expirou', text: 'O prazo para abrir esta notificação terminou. Se ainda precisar dela, fale com' },
  withdrawn: { title: 'Esta notificação foi retirada', text: 'Não há mais nada para ler aqui. Em caso de dúvida, fale com' },
  stranger: {
    title: 'Este link foi encerrado',
    text: 'Alguém informou, por este link, que não é o destinatário. Se você é o destinatário, fale com',
  },
}

export const endedPage = (end: LinkEnd, brand: Brand): Page => ({
  title: endings[end].title,
  brand,
  body: html`<section class="card"><h1>${endings[end].title}</h1><p>${endings[end].text} ${brandName(brand)}.</p></section>`,
})

export const wrongPersonReportedPage = (brand: Brand): Page => ({
  title: 'Aviso registrado',
  brand,
  body: html`<section class="card"><h1>Obrigado por avisar</h1>
<p>${brandName(brand)} já sabe que esta notificação chegou à pessoa errada, e não envia mais nada a este contato por este canal. Você pode apagar a mensagem.</p></section>`,
})
