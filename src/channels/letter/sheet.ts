import { toSVG } from 'bwip-js/node'
import type { Block } from './blocks.js'
import type { ReceiptImage } from './letter-store.js'

/** The printed content of a letter as data, so that no text can become a command of the typesetter. */
export interface Sheet {
  layout: LetterLayout
  /** Printed on every page. */
  reference: string
  sender: { name: string; lines: readonly string[]; color: string }
  recipient: { name: string; lines: readonly string[] }
  date: string
  /** The creation date of the PDF, in seconds since the epoch. */
  moment: number
  subject: string
  blocks: readonly Block[]
}

/**
 * What a copy of the sheet is for. The QR code of the recipient's copy is the recipient's link; the sender's copy must not have it,
 * or the sender could read and confirm in the recipient's place.
 */
export type SheetCopy =
  /** `link`: where the recipient verifies, reads and confirms the letter. */
  | { for: 'recipient'; link: string }
  /** `proof`: the address of this copy, which proves nothing about reading. */
  | { for: 'sender'; proof: string; receipt: LetterReceipt }

/** The sheet layouts that `modelo` names. */
export const layouts = ['simples', 'registrada'] as const
export type LetterLayout = (typeof layouts)[number]

/** The history of a letter, printed before it for the sender. */
export interface LetterReceipt {
  facts: readonly { label: string; value: string }[]
  events: readonly { at: string; text: string }[]
  sha256: string
  /** The signed receipt of delivery, if Correios sent one. */
  image: ReceiptImage | null
}

const QR = { bcid: 'qrcode', eclevel: 'M', paddingwidth: 0, paddingheight: 0 } as const

/** The input of the typesetter: texts, and files by their path. */
export interface SheetInputs {
  /** JSON, JSON, SVG and a host name. */
  texts: { sheet: string; receipt: string; qr: string; site: string }
  files: Record<string, Uint8Array>
  moment: number
}

export function sheetInputs(sheet: Sheet, copy: SheetCopy): SheetInputs {
  const receipt = copy.for === 'sender' ? copy.receipt : null
  const { image = null, ...shown } = receipt ?? {}
  const path = image && `/ar.${image.type}`
  const address = copy.for === 'sender' ? copy.proof : copy.link
  return {
    texts: {
      sheet: JSON.stringify(sheet),
      receipt: JSON.stringify(receipt && { ...shown, image: path }),
      qr: toSVG({ ...QR, text: address }),
      site: new URL(address).host,
    },
    moment: sheet.moment,
    files: image === null ? {} : { [path!]: image.bytes },
  }
}

/**
 * The second font has the symbols that the first one lacks: ticks, boxes, arrows, telephones. It has them upright only, and a
 * show rule cannot force that where emph() is used.
 */
export const FACES = String.raw`
#set text(font: ("Libertinus Serif", "DejaVu Sans Mono"), fallback: false)
#show regex("[\u{2190}-\u{2bff}]"): set text(weight: "regular", style: "normal")
`

/**
 * The A4 sheet in Typst. Folded at its marks, it shows the address in the window of DL and C5 envelopes: 20 mm from the left,
 * 50 mm from the top, 90 × 40 mm.
 */
export const SHEET_SOURCE = String.raw`
#let sheet = json(bytes(sys.inputs.sheet))
#let receipt = json(bytes(sys.inputs.receipt))
#let accent = rgb(sheet.sender.color)
#let grey = luma(38%)
#let registered = sheet.layout == "registrada"

#set document(title: sheet.subject, author: sheet.sender.name, date: auto)
${FACES}
#set text(size: 11pt, lang: "pt", region: "BR", hyphenate: true)
#set par(justify: true, leading: 0.68em, spacing: 1.15em)

#let print(runs) = for run in runs {
  if run.text == "\n" { linebreak() } else {
    let words = [#run.text]
    if "italic" in run { words = text(style: "italic", words) }
    if "bold" in run { words = strong(words) }
    if "underline" in run { words = underline(words) }
    words
  }
}

#let head-sizes = (15pt, 12.5pt, 11.5pt)
#let show-table(rows) = {
  let columns = calc.max(..rows.map(row => row.cells.len()))
  set par(justify: false)
  set text(size: 10pt)
  block(above: 1.2em, below: 1.4em, table(
    columns: columns,
    stroke: (x, y) => (bottom: if y == 0 and rows.at(0).head { 0.8pt + accent } else { 0.4pt + luma(75%) }),
    inset: (x: 6pt, y: 5pt),
    ..rows.enumerate().map(((index, row)) => {
      let filled = row.cells + range(columns - row.cells.len()).map(_ => ())
      let cells = filled.map(cell => if row.head { strong(print(cell)) } else { print(cell) })
      if index == 0 and row.head { (table.header(..cells),) } else { cells }
    }).flatten()
  ))
}
#let show-block(piece) = {
  if piece.kind == "paragraph" {
    // The best breaks of a very long paragraph take seconds to find; the first good ones take none.
    let breaks = if piece.runs.map(run => run.text.len()).sum() > 3000 { "simple" } else { "optimized" }
    let body = par(justify: piece.align == "left", linebreaks: breaks, print(piece.runs))
    if piece.align == "left" { body } else { align(if piece.align == "center" { center } else { right }, body) }
  } else if piece.kind == "heading" {
    block(above: 1.6em, below: 0.9em, sticky: true, par(justify: false, text(size: head-sizes.at(piece.level - 1), weight: "bold", fill: accent, hyphenate: false, print(piece.runs))))
  } else if piece.kind == "list" {
    let items = piece.items.map(item => for inner in item { show-block(inner) })
    if piece.ordered { enum(indent: 0.5em, spacing: 0.8em, ..items) } else { list(indent: 0.5em, spacing: 0.8em, ..items) }
  } else if piece.kind == "table" {
    show-table(piece.rows)
  } else if piece.kind == "quote" {
    block(inset: (left: 1em), stroke: (left: 1.5pt + luma(80%)), for inner in piece.blocks { show-block(inner) })
  } else if piece.kind == "rule" {
    line(length: 100%, stroke: 0.5pt + luma(70%))
  }
}

#let small(body) = text(size: 8pt, fill: grey, body)
#let labelled(body, value) = { text(size: 7pt, fill: grey, tracking: 0.4pt, upper(body)); linebreak(); value }

#let chapter(body) = { v(6mm); text(weight: "bold", fill: accent, body); v(1mm) }
#if receipt != none {
  set page(paper: "a4", margin: (left: 25mm, right: 20mm, top: 22mm, bottom: 24mm), footer: none)
  set par(justify: false)
  text(size: 9pt, fill: accent, weight: "bold", tracking: 0.6pt)[COMPROVANTE DE CARTA]
  v(1mm)
  text(size: 17pt, weight: "bold", hyphenate: false, sheet.subject)
  v(2mm)
  line(length: 100%, stroke: 1pt + accent)
  v(3mm)
  grid(columns: (38mm, 1fr), row-gutter: 3.2mm, ..receipt.facts.map(fact => (small(fact.label), text(size: 10pt, fact.value))).flatten())
  chapter[Andamento]
  grid(columns: (38mm, 1fr), row-gutter: 2.6mm, ..receipt.events.map(event => (small(event.at), text(size: 10pt, event.text))).flatten())
  if receipt.image != none {
    chapter[Aviso de recebimento]
    image(receipt.image, width: 100%, height: 70mm, fit: "contain")
  }
  v(1fr)
  small[As páginas seguintes são a carta como foi impressa, menos o código da primeira, que só o destinatário recebe: o desta cópia abre este comprovante. SHA-256 do PDF entregue à impressão:]
  linebreak()
  text(font: "DejaVu Sans Mono", size: 7.5pt, receipt.sha256)
}

// Pages count from the letter's first: a receipt in front of it changes nothing about the letter.
#let page-number() = here().page() - locate(<start>).page() + 1
#let continued = context {
  if page-number() > 1 {
    grid(columns: (1fr, auto), small(sheet.sender.name), small[Ref. #sheet.reference])
    v(-1.5mm)
    line(length: 100%, stroke: 0.4pt + luma(75%))
  }
}
#let foot = context {
  line(length: 100%, stroke: 0.4pt + luma(75%))
  v(-1.5mm)
  grid(columns: (1fr, auto), column-gutter: 6mm,
    small(if registered [Confira a autenticidade desta carta: #sys.inputs.site] else [Ref. #sheet.reference]),
    small[Página #page-number() de #(locate(<end>).page() - locate(<start>).page() + 1)])
}

#let marks = context if page-number() == 1 {
  for y in (99mm, 198mm) { place(top + left, dx: 4mm, dy: y, line(length: 4mm, stroke: 0.3pt + luma(60%))) }
}

#set page(paper: "a4", margin: (left: 25mm, right: 20mm, top: 26mm, bottom: 24mm), header: continued, footer: foot, background: marks)
#metadata(none) <start>

#place(top + left, dx: 0mm, dy: -10mm, block(width: 165mm, {
  grid(columns: (1fr, auto), align: (left + horizon, right + horizon),
    text(size: 17pt, weight: "bold", fill: accent, hyphenate: false, sheet.sender.name),
    if registered { box(stroke: 0.8pt + accent, inset: (x: 7pt, y: 4.5pt), radius: 1.5pt, text(size: 8.5pt, weight: "bold", fill: accent, tracking: 0.6pt)[CARTA REGISTRADA]) })
  v(-1mm)
  line(length: 100%, stroke: 1.2pt + accent)
}))

// The window: 20 mm from the left edge, 50 mm from the top one.
#place(top + left, dx: -5mm, dy: 24mm, block(width: 90mm, height: 40mm, {
  set par(justify: false, leading: 0.52em, spacing: 0.6em)
  block(height: 9mm, width: 100%, clip: true, align(bottom, text(size: 6.5pt, fill: grey, hyphenate: false, ([Rem.: ], sheet.sender.name, ..sheet.sender.lines.map(line => " · " + line)).join())))
  v(-1mm)
  text(weight: "bold", hyphenate: false, sheet.recipient.name)
  for line in sheet.recipient.lines { parbreak(); text(size: 10.5pt, hyphenate: false, line) }
}))

#place(top + right, dy: 24mm, grid(columns: (auto, 26mm), column-gutter: 5mm, align: (right + top, right + top),
  {
    set par(justify: false, leading: 0.5em)
    block(width: 38mm, align(right, {
      labelled([Data], text(size: 9pt, sheet.date))
      v(1.5mm)
      labelled([Referência], text(size: 7.5pt, sheet.reference))
      v(1.5mm)
      if receipt == none { labelled([Confira esta carta], text(size: 7.5pt)[Aponte a câmera para o código ao lado]) } else { labelled([Cópia do remetente], text(size: 7.5pt)[O código ao lado abre este comprovante]) }
    }))
  },
  image(bytes(sys.inputs.qr), format: "svg", width: 26mm)))

#v(76mm)
#par(justify: false, text(size: 13pt, weight: "bold", hyphenate: false, sheet.subject))
#v(1mm)
#for piece in sheet.blocks { show-block(piece) }

#if registered {
  v(8mm)
  block(breakable: false, width: 100%, inset: 8pt, fill: luma(96%), stroke: (left: 2pt + accent), par(justify: false, text(size: 8.5pt, fill: grey)[Esta carta foi postada com registro: a entrega é acompanhada e comprovada. Para conferir quem a enviou, leia o código da primeira página.]))
}
#metadata(none) <end>
`
