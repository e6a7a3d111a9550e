import { createHash, randomUUID } from 'node:crypto'
import { createTypesetter, type Typesetter } from '../../src/channels/letter/typesetter.js'
import { readBlocks } from '../../src/runtime/typesetting/blocks.js'
import { print } from '../support/report.js'
import type { ChannelBench } from './channels.js'

/** Letters: the bare client posts a PDF that is there already; ours makes each one first. */
const address = { logradouro: 'Rua das Flores', numero: '100', bairro: 'Centro', cidade: 'São Paulo', uf: 'SP', cep: '01000-001' }
const pdf = Buffer.alloc(30_000, '%PDF-1.7 ')
const documento = { base64: pdf.toString('base64'), sha256: createHash('sha256').update(pdf).digest('hex'), paginas: 1 }
const SENT = '<p>Prezado(a) Maria,</p><p>Notificamos que o contrato 4711 está em aberto desde 10/08/2026.</p>'
const LONG = `<p>Prezada Maria,</p>${'<p>O contrato <b>4711</b> está em aberto desde 10/08/2026, conforme o demonstrativo anexo.</p>'.repeat(25)}`

export const letterBench: ChannelBench = {
  atOnce: 50,
  request: n => ({
    carta: {
      template: 'notificacao-extrajudicial',
      variables: { ...address, nome: 'Maria', contrato: String(n), vencimento: '10/08/2026' },
    },
  }),
  async send(carrier) {
    const referencia = `${randomUUID()}.letter.1`
    const order = { referencia, modelo: 'simples', assunto: 'Aviso', remetente: { nome: 'X' }, documento }
    const destinatario = { nome: 'Maria', ...address, cep: '01000001' }
    const answer = await fetch(`http://${carrier.host}${carrier.pathname}/cartas`, {
      method: 'POST',
      headers: { authorization: `Bearer ${carrier.username}`, 'content-type': 'application/json', 'idempotency-key': referencia },
      body: JSON.stringify({ ...order, destinatario }),
    })
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  },
  /** The letter that is sent above, and one of two pages, in one thread: what a core can make. */
  async make(count) {
    const typesetter = createTypesetter(1)
    const sent = await measure(typesetter, SENT, count)
    await measure(typesetter, LONG, Math.ceil(count / 5))
    await typesetter.close()
    return sent
  },
}

async function measure(typesetter: Typesetter, html: string, count: number): Promise<number> {
  const sheet = (n: number) => ({
    layout: 'registrada' as const,
    reference: `019a8f2e-77aa-7c3e-9d12-${String(n).padStart(12, '0')}`,
    sender: {
      name: 'Banco Exemplo S.A.',
      lines: ['Av. Paulista, 1000'],
      details: ['Banco Exemplo S.A.', 'CNPJ: 11.222.333/0001-81'],
      color: '#0b4f6c',
      logo: null,
    },
    recipient: { name: `Maria ${n}`, lines: ['Rua das Flores, 100', '01000-001 São Paulo – SP'] },
    date: '15 de novembro de 2026',
    moment: 1_763_200_000,
    subject: 'Notificação',
    blocks: readBlocks(html),
  })
  const typed = { address: 'notifica.example.com/s', code: '7K3M9-Q2X4Z' }
  const copy = (n: number) => ({ for: 'recipient' as const, link: `https://notifica.example.com/n/${n}`, typed })
  const { pages } = await typesetter.compose(sheet(0), copy(0))
  const [cpu, started] = [process.cpuUsage(), performance.now()]
  for (let n = 1; n <= count; n++) await typesetter.compose(sheet(n), copy(n))
  const { user, system } = process.cpuUsage(cpu)
  const each = (user + system) / 1_000 / count
  const rate = count / ((performance.now() - started) / 1_000)
  print(
    `letter, PDF of ${pages} page(s)   ${rate.toFixed(0).padStart(8)}/s${each.toFixed(2).padStart(9)} ms CPU each (${(1_000 / each).toFixed(0)}/s and core)\n`,
  )
  return each
}
