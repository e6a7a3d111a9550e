import type { ChannelBench } from './channels.js'

export const whatsappBench: ChannelBench = {
  atOnce: 40,
  request: () => ({
    whatsapp: {
      number: '11900000001',
      variables: { template: 'notificacao_contrato', nome: 'Maria', contrato: '4711' },
    },
  }),
  async send({ host, username, pathname }) {
    const answer = await fetch(`http://${host}${pathname}/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${username}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        messaging_product: 'whatsapp',
        to: '5511900000001',
        type: 'template',
        template: { name: 'aviso', language: { code: 'pt_BR' } },
      }),
    })
    if (!answer.ok) throw new Error(`the carrier says ${answer.status}`)
    await answer.arrayBuffer()
  },
}
