import type { LinkEnd } from '../../domain/recipient/link.js'
import { html } from '../../domain/text/html.js'
import { PRINTED_CODE } from './code-page.js'
import { type Brand, brandName, duration, type Page, senderRows } from './layout.js'

/** A page without a brand reveals nothing about a notification. */
const card = (title: string, text: string, brand: Brand | null = null, heading = title): Page => ({
  title,
  brand,
  body: html`<section class="card"><h1>${heading}</h1><p>${text}</p></section>`,
})

export const unknownPage: Page = {
  title: 'Link não encontrado',
  brand: null,
  body: html`<section class="card"><h1>Link não encontrado</h1>
<p>Este endereço não leva a nenhuma notificação. Confira se copiou o link inteiro, ou abra de novo a mensagem que você recebeu e toque no link.</p>
<p>${PRINTED_CODE}</p>
</section>`,
}

export const crossSitePage = card(
  'Pedido recusado',
  'Este pedido veio de outra página. Abra de novo a mensagem que você recebeu e siga o link dela.',
)

export const failurePage = card(
  'Não foi possível agora',
  'Algo falhou do nosso lado, e nada do que você fez se perdeu. Espere um minuto e tente de novo.',
)

export const filePage = (text: string): Page => card('O arquivo não está disponível agora', text)

export const badRequestPage = card(
  'Pedido inválido',
  'Não foi possível ler este pedido. Volte à página anterior e tente de novo.',
)

export const tooManyGuessesPage = (lockedMs: number): Page =>
  card(
    'Muitas tentativas',
    `Houve links errados demais a partir desta rede. Espere ${duration(lockedMs)} e abra de novo o link da sua mensagem.`,
  )

const endings: Record<LinkEnd, [title: string, text: string]> = {
  expired: ['Este link expirou', 'O prazo para abrir esta notificação terminou. Se ainda precisar dela, fale com'],
  withdrawn: ['Esta notificação foi retirada', 'Não há mais nada para ler aqui. Em caso de dúvida, fale com'],
  stranger: [
    'Este link foi encerrado',
    'Alguém informou, por este link, que não é o destinatário. Se você é o destinatário, fale com',
  ],
}

export function endedPage(end: LinkEnd, brand: Brand): Page {
  const [title, text] = endings[end]
  return {
    title,
    brand,
    body: html`<section class="card"><h1>${title}</h1>
<p>${text} ${brandName(brand)}.</p>
<dl>${senderRows('Remetente', brand)}</dl>
</section>`,
  }
}

export const wrongPersonReportedPage = (brand: Brand): Page =>
  card(
    'Aviso registrado',
    `${brandName(brand)} já sabe que esta notificação chegou à pessoa errada, e não envia mais nada a este contato por este canal. Você pode apagar a mensagem.`,
    brand,
    'Obrigado por avisar',
  )
