import { moduleOf } from '../../channels/registry.js'
import { sha256 } from '../../domain/evidence/evidence.js'
import type { Verification } from '../../domain/evidence/verification-code.js'
import { hideLinksIn } from '../../domain/recipient/link.js'
import { brazilianDate } from '../../domain/text/dates.js'
import type { Block } from '../../runtime/typesetting/blocks.js'
import type { Dossier } from '../../store/evidence/dossier.js'
import type { LogProof } from '../log-proof.js'
import { cut, cutLines } from './event-details.js'
import { channelOf, entryOf, isSimulatedDossier, senderOf, statusOf } from './facts-of.js'
import { type CertificateNote, gradeNotes, lawNotes, signatureNote } from './legal-notes.js'
import type { DocumentContent, Fact, Section } from './sections.js'

/** A message as it left for a carrier, without the recipient's link. */
export interface ShownContent {
  /** The event of the attempt. */
  seq: number
  channel: string
  ordinal: number
  contentType: string
  sha256: string
  size: number
  bytes: Uint8Array
}

export interface ReportParts {
  verification: Verification
  proof: LogProof | null
  certificate: CertificateNote
  /** The message as it looked; null: erased. */
  message: { blocks: readonly Block[]; isCut: boolean } | null
  contents: readonly ShownContent[]
  /** The name of the file that is inside the PDF. */
  embedded: string | null
}

/** The expert report: everything that is known of a notification, and how to check it. */
export function makeReport(dossier: Dossier, parts: ReportParts): DocumentContent {
  const { color, name, details } = senderOf(dossier)
  return {
    kind: 'Laudo técnico de notificação',
    title: titleOf(dossier),
    reference: dossier.id,
    color,
    sender: { name, details },
    simulated: isSimulatedDossier(dossier),
    verification: parts.verification,
    sections: [
      ...summary(dossier, parts),
      { kind: 'chapter', title: '2. Partes' },
      { kind: 'facts', rows: partiesOf(dossier) },
      { kind: 'chapter', title: '3. Eventos' },
      ...eventsOf(dossier),
      { kind: 'chapter', title: '4. Conteúdo' },
      ...contentOf(dossier, parts),
      { kind: 'chapter', title: '5. Cadeia de eventos' },
      ...chainOf(dossier),
      { kind: 'chapter', title: '6. Registro público e carimbos do tempo' },
      ...proofOf(dossier, parts.proof),
      { kind: 'chapter', title: '7. O que cada grau de prova significa' },
      ...gradeNotes(),
      { kind: 'chapter', title: '8. Notas legais' },
      lawNotes(),
      { kind: 'chapter', title: '9. Como conferir este laudo' },
      ...stepsOf(parts),
    ],
  }
}

const titleOf = ({ subject }: Dossier): string => cut(hideLinksIn(subject ?? 'Notificação'), 160)

function summary(dossier: Dossier, { certificate }: ReportParts): Section[] {
  const last = dossier.events.at(-1)!
  const rows: Fact[] = [
    { label: 'Identificador', value: dossier.id, machine: true },
    { label: 'Número', value: String(dossier.code) },
    { label: 'Aceita em', value: `${brazilianDate(dossier.acceptedAt)} (horário de Brasília, como todas as datas)` },
    { label: 'Retrata a situação até', value: `${brazilianDate(new Date(last.at))}, evento ${last.seq}` },
    { label: 'Assinatura', value: signatureNote(certificate) },
  ]
  return [
    { kind: 'title', title: titleOf(dossier) },
    { kind: 'chapter', title: '1. Resumo' },
    { kind: 'facts', rows },
    {
      kind: 'table',
      columns: [4, 8, 6],
      head: ['Canal', 'Situação', 'Destinatário'],
      rows: dossier.deliveries.map(delivery => {
        const { text, note } = statusOf(delivery)
        return [
          { text: moduleOf(delivery.channel).label, strong: true },
          { text: note === '' ? text : `${text}. ${note}` },
          { text: delivery.recipient ?? 'apagado' },
        ]
      }),
    },
    { kind: 'verification', text: 'Qualquer pessoa confere este laudo, sem depender de quem o emitiu: o capítulo 9 diz como.' },
  ]
}

function partiesOf(dossier: Dossier): Fact[] {
  const { name, details } = senderOf(dossier)
  const { 'sender.document': cnpj } = dossier.sender.settings
  const rows: Fact[] = [
    { label: 'Remetente', value: name },
    ...details.map(detail => {
      const [, label, value] = /^([^:]{1,40}): (.*)$/s.exec(detail) ?? []
      return label === undefined ? { label: 'Razão social', value: detail } : { label, value: value! }
    }),
  ]
  if (cnpj === '') rows.push({ label: 'CNPJ', value: 'não informado pelo remetente na sua conta' })
  rows.push({ label: 'Destinatário', value: dossier.recipientName ?? 'apagado' })
  for (const { channel, recipient } of dossier.deliveries)
    rows.push({ label: `Contato: ${moduleOf(channel).label}`, value: recipient ?? 'apagado' })
  if (dossier.customId !== null) rows.push({ label: 'Referência do remetente', value: dossier.customId })
  if (dossier.question !== null) rows.push({ label: 'Pergunta antes da leitura', value: dossier.question })
  return rows.map(row => ({ ...row, value: cut(hideLinksIn(row.value)) }))
}

function eventsOf(dossier: Dossier): Section[] {
  const groups: [string, Dossier['events']][] = [
    ['Notificação', dossier.events.filter(event => channelOf(event) === null)],
    ...dossier.deliveries.map(({ channel }): [string, Dossier['events']] => [
      `Canal: ${moduleOf(channel).label}`,
      dossier.events.filter(event => channelOf(event) === channel),
    ]),
  ]
  const erased = dossier.events.filter(event => event.data === null && event.seq > 1)
  const text =
    'Tudo o que foi registrado, na ordem da cadeia dentro de cada canal: tentativas, respostas das operadoras como vieram, acessos, decisões. O número é o do evento na cadeia.'
  return [
    { kind: 'paragraph', text: erased.length === 0 ? text : `${text} Eventos com os dados apagados estão em “Notificação”.` },
    ...groups.flatMap(([title, events]): Section[] => [
      { kind: 'heading', title },
      events.length === 0
        ? { kind: 'paragraph', text: 'Nada foi registrado por este canal até agora.', small: true }
        : { kind: 'events', items: events.map(event => entryOf(event, dossier)) },
    ]),
  ]
}

function contentOf(dossier: Dossier, { message, contents }: ReportParts): Section[] {
  const accepted = dossier.events[0]?.data as { contentSha256?: string } | null
  const hashes: Fact[] = [
    ...(accepted?.contentSha256 === undefined
      ? []
      : [{ label: 'SHA-256 do conteúdo pedido', value: accepted.contentSha256, machine: true }]),
    ...(dossier.content === null
      ? []
      : [{ label: 'SHA-256 do conteúdo guardado', value: sha256(dossier.content), machine: true }]),
  ]
  const sections: Section[] = [{ kind: 'facts', rows: hashes }]
  if (dossier.attachments.length > 0)
    sections.push({
      kind: 'table',
      columns: [5, 2, 11],
      head: ['Anexo', 'Bytes', 'SHA-256'],
      rows: dossier.attachments.map(({ name, size, sha256: hash }) => [
        { text: name, strong: true },
        { text: String(size) },
        { text: hash, machine: true },
      ]),
    })
  if (message === null)
    sections.push({ kind: 'paragraph', text: 'O texto da notificação foi apagado; o hash continua na cadeia.' })
  else {
    sections.push({ kind: 'heading', title: 'O texto da notificação' }, { kind: 'message', blocks: message.blocks })
    const note = 'Composto para leitura: o que vale são os bytes, cujo hash está acima.'
    sections.push({
      kind: 'paragraph',
      small: true,
      text: message.isCut ? `${note} O texto foi cortado aqui por ser longo; está inteiro no arquivo de evidências.` : note,
    })
  }
  for (const content of contents) sections.push(...sentOf(content))
  return sections
}

function sentOf({ channel, ordinal, contentType, size, sha256: hash, bytes }: ShownContent): Section[] {
  const module = moduleOf(channel)
  const details = module.explainContent?.(bytes) ?? plainText(contentType, bytes)
  return [
    { kind: 'heading', title: `Como saiu por ${module.label}${ordinal === 1 ? '' : `, mensagem ${ordinal}`}` },
    {
      kind: 'facts',
      rows: [
        { label: 'Tipo e tamanho', value: `${contentType}, ${size} bytes` },
        { label: 'SHA-256', value: hash, machine: true },
        ...details.flatMap(detail => ('value' in detail ? [{ ...detail, value: cut(hideLinksIn(detail.value)) }] : [])),
      ],
    },
    ...details.flatMap((detail): Section[] =>
      'lines' in detail ? [{ kind: 'raw', label: detail.label, lines: cutLines(detail.lines.map(hideLinksIn)) }] : [],
    ),
  ]
}

const plainText = (contentType: string, bytes: Uint8Array) =>
  /^(text\/|application\/json)/.test(contentType)
    ? [{ label: 'Texto, com o link do destinatário encoberto', lines: Buffer.from(bytes).toString('utf8').split(/\r?\n/) }]
    : []

function chainOf({ events }: Dossier): Section[] {
  return [
    {
      kind: 'paragraph',
      text: 'Cada evento traz o hash do anterior: mudar um quebra o dele, e tirar um quebra o elo do seguinte. “dados” é o hash, com sal, do que o evento diz; “evento” é o hash do evento inteiro, que entra no seguinte.',
    },
    {
      kind: 'table',
      columns: [1, 5, 12],
      head: ['Nº', 'Tipo e origem', 'Hashes (SHA-256)'],
      rows: events.map(({ seq, type, source, commit, hash }) => [
        { text: String(seq) },
        { text: `${type}\n${source}` },
        { text: `dados ${commit}\nevento ${hash}`, machine: true },
      ]),
    },
  ]
}

function proofOf({ events }: Dossier, proof: LogProof | null): Section[] {
  if (proof === null)
    return [
      {
        kind: 'paragraph',
        text: 'Ainda não há: os eventos entram no registro público alguns segundos depois de acontecerem. Peça o laudo de novo em instantes.',
      },
    ]
  const { size, note, at, timeStamps } = proof.checkpoint
  const last = proof.events.at(-1)
  const covered = proof.events.length
  return [
    {
      kind: 'paragraph',
      text: `Os eventos de todas as notificações são folhas de uma árvore de Merkle (RFC 6962), cuja raiz é assinada e sai desta máquina. O ponto abaixo cobre ${covered} dos ${events.length} eventos deste laudo.`,
    },
    {
      kind: 'facts',
      rows: [
        { label: 'Ponto de controle', value: `${size} eventos, ${brazilianDate(at)}` },
        ...(last === undefined
          ? []
          : [{ label: 'Folhas destes eventos', value: proof.events.map(({ leaf }) => leaf).join(', ') }]),
      ],
    },
    { kind: 'raw', label: 'Ponto de controle assinado, como foi publicado', lines: note.trimEnd().split('\n') },
    ...(last === undefined
      ? []
      : [
          {
            kind: 'raw',
            label: `Prova de inclusão do evento ${last.seq} (folha ${last.leaf}), da folha à raiz; as dos outros estão no arquivo de evidências`,
            lines: last.path,
          } as const,
        ]),
    { kind: 'heading', title: 'Carimbos do tempo (RFC 3161)' },
    timeStamps.length === 0
      ? { kind: 'paragraph', text: 'Ainda não há carimbo de uma autoridade para este ponto de controle.' }
      : {
          kind: 'table',
          columns: [4, 3, 10],
          head: ['Autoridade', 'Data (Brasília)', 'SHA-256 do carimbo'],
          rows: timeStamps.map(({ authority, at: stampedAt, token }) => [
            { text: authority, strong: true },
            { text: brazilianDate(stampedAt) },
            { text: sha256(token), machine: true },
          ]),
        },
  ]
}

function stepsOf({ certificate, proof, embedded, verification }: ReportParts): Section[] {
  const items: { text: string; command?: string }[] = [
    {
      text: `Abra ${verification.url} ou aponte a câmera para o QR code da primeira página, e compare o código ${verification.code}.`,
    },
    {
      text: 'Confira a assinatura do PDF. O programa deve dizer que a assinatura é válida e que o documento inteiro está assinado; um só byte mudado a invalida.',
      command: 'pdfsig laudo.pdf',
    },
  ]
  if (embedded !== null)
    items.push(
      {
        text: `Tire de dentro do PDF o arquivo ${embedded}, com eventos, conteúdos, provas e chaves.`,
        command: 'pdfdetach -saveall laudo.pdf',
      },
      {
        text: 'Confira tudo sem internet e sem nosso banco de dados. O programa diz o que confere e a primeira coisa que não confere.',
        command: `npx carteiro verify ${embedded}`,
      },
    )
  else
    items.push({
      text: 'Peça o arquivo de evidências a quem enviou (GET /gw/evidence) e confira-o sem internet.',
      command: 'npx carteiro verify evidencia.zip',
    })
  if (proof !== null && proof.checkpoint.timeStamps.length > 0)
    items.push(
      {
        text: 'O texto carimbado são as quatro primeiras linhas do ponto de controle.',
        command: 'unzip evidencia.zip && head -n 4 checkpoint.txt > ponto.txt',
      },
      {
        text: 'Confira o carimbo do tempo com o certificado da autoridade, que ela publica.',
        command: 'openssl ts -verify -token_in -in time-stamps/1.tsr -data ponto.txt -CAfile autoridade.pem',
      },
    )
  const { subject, issuer, validFrom, validTo, sha256: fingerprint } = certificate
  return [
    { kind: 'steps', items },
    { kind: 'heading', title: 'Certificado que assina este documento' },
    {
      kind: 'facts',
      rows: [
        { label: 'Titular', value: subject },
        { label: 'Emissor', value: issuer },
        { label: 'Validade', value: `${brazilianDate(validFrom)} a ${brazilianDate(validTo)}` },
        { label: 'SHA-256', value: fingerprint, machine: true },
      ],
    },
    { kind: 'paragraph', small: true, text: signatureNote(certificate) },
  ]
}
