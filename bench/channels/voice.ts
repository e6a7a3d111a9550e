import type { ChannelBench } from './channels.js'

const FROM = '+551130000000'
const DOCUMENT = '<Response><Say language="pt-BR">Seu contrato vence amanhã.</Say></Response>'

export const voiceBench: ChannelBench = {
  atOnce: 20,
  request: n => ({
    voz: { number: `119${20_000_000 + n}`, template: 'ligacao-lembrete', payload: { nome: 'Maria', contrato: '4711' } },
  }),
  async send({ host, username, password }, n) {
    const answer = await fetch(`http://${host}/2010-04-01/Accounts/${username}/Calls.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
      body: new URLSearchParams({ To: `+55119${30_000_000 + n}`, From: FROM, Twiml: DOCUMENT }),
    })
    if (!answer.ok) throw new Error(`the carrier says ${answer.status}`)
    await answer.arrayBuffer()
  },
}
