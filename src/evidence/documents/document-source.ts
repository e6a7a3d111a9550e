import { BLOCKS, FACES } from '../../runtime/typesetting/faces.js'

/** The layout of the documents (sections.ts), on A4. */
export const DOCUMENT_SOURCE = String.raw`
#let doc = json(bytes(sys.inputs.document))
#let accent = rgb(doc.color)
#let grey = luma(38%)
#let pale = luma(82%)
#let loud-headings = false
#let tones = (good: rgb("#0b5d3b"), bad: rgb("#9b1c1c"), open: rgb("#7a4b00"), recipient: rgb("#0b5d3b"), machine: rgb("#7a4b00"), plain: luma(30%))

#set document(title: doc.kind + ": " + doc.title, author: doc.sender.name, date: auto)
${FACES}
#set text(size: 10pt, lang: "pt", region: "BR", hyphenate: true, number-type: "lining")
#set par(justify: false, leading: 0.62em, spacing: 0.95em)
${BLOCKS}

#let small(body) = text(size: 8pt, fill: grey, body)
// Portuguese repeats a hyphen at which a line is broken, and a code with a repeated hyphen is another code: texts with hyphens are in no
// language. The others stay in Portuguese, because the language of most of the text is that of the document. A word that no line has room for may be broken anywhere.
#let breakable(word, most) = if word.len() > most { word.clusters().join("\u{200b}") } else { word }
#let lang-of(body) = if body.contains("-") { "zxx" } else { "pt" }
#let verbatim(body, most: 26) = text(lang: lang-of(body), hyphenate: false, body.split("\n").map(row => row.split(" ").map(word => breakable(word, most)).join(" ")).join(linebreak()))
// A hash is never broken: every column that shows one has room for it.
#let is-hash(body) = body.match(regex("^[0-9a-f]{64}$")) != none
// Both fonts, as in FACES: a character is printable if one of them has it.
#let machine(body, size: 7.6pt) = text(font: ("DejaVu Sans Mono", "Libertinus Serif"), size: size, if is-hash(body) { text(hyphenate: false, box(body)) } else { verbatim(body) })
// A row of a table of hashes: a word of ours before the hash.
#let machine-row(row) = {
  let parts = row.split(" ").filter(part => part != "")
  if parts.len() == 2 and is-hash(parts.at(1)) { text(size: 7.5pt, fill: grey, box(width: 11mm, parts.at(0))); machine(parts.at(1), size: 7pt) } else { machine(row, size: 7pt) }
}
#let value-of(item) = if item.at("machine", default: false) { item.text.split("\n").map(row => machine-row(row)).join(linebreak()) } else if item.at("strong", default: false) { strong(verbatim(item.text)) } else { verbatim(item.text) }

#let mark = if doc.simulated {
  place(center + horizon, rotate(-38deg, text(size: 112pt, weight: "bold", fill: rgb(155, 28, 28, 34), hyphenate: false)[SIMULADO]))
}
#let head = context {
  set text(size: 8pt, fill: grey)
  grid(columns: (1fr, auto), column-gutter: 6mm,
    [#text(weight: "bold", fill: accent, doc.sender.name) · #doc.kind #if doc.simulated [ · #text(weight: "bold", fill: tones.bad)[SIMULADO: nada saiu para o mundo]]],
    text(lang: "zxx", hyphenate: false)[Ref. #doc.reference])
  v(-1.6mm)
  line(length: 100%, stroke: 0.4pt + pale)
}
#let foot = context {
  set text(size: 8pt, fill: grey)
  line(length: 100%, stroke: 0.4pt + pale)
  v(-1.6mm)
  grid(columns: (1fr, auto), column-gutter: 8mm,
    [Confira em #text(lang: "zxx", hyphenate: false, doc.verification.url.replace(regex("^https?://"), "").split("/verificar").first() + "/verificar") com o código #box(text(weight: "bold", lang: "zxx", doc.verification.code))],
    [página #counter(page).display() de #counter(page).final().first()])
}
#set page(paper: "a4", margin: (left: 22mm, right: 20mm, top: 25mm, bottom: 23mm), header: head, footer: foot, foreground: mark)

#show heading.where(level: 1): it => block(above: 8mm, below: 3.4mm, sticky: true, text(size: 13pt, weight: "bold", fill: accent, hyphenate: false, it.body))
#show heading.where(level: 2): it => block(above: 5mm, below: 2.4mm, sticky: true, text(size: 10.5pt, weight: "bold", hyphenate: false, it.body))

#let facts(rows, label-width: 40mm, size: 9.5pt, gutter: 2.6mm) = grid(
  columns: (label-width, 1fr), column-gutter: 4mm, row-gutter: gutter,
  ..rows.map(row => (small(verbatim(row.label, most: 16)), if row.at("machine", default: false) { machine(row.value) } else { text(size: size, verbatim(row.value)) })).flatten()
)
#let raw-box(label, lines) = block(above: 3.2mm, below: 2.2mm, width: 100%, {
  if label != "" { block(below: 1.8mm, sticky: true, small(label)) }
  block(width: 100%, inset: (left: 3mm, y: 1mm), stroke: (left: 1.2pt + pale), {
    set par(leading: 0.5em, spacing: 0.55em)
    for line in lines { par(machine(line, size: 7.2pt)) }
  })
})
#let event-entry(item) = {
  let tone = tones.at(item.tone)
  block(width: 100%, above: 3.6mm, below: 0mm, breakable: item.facts.len() + item.raw.map(piece => piece.lines.len()).sum(default: 0) > 24, stroke: (left: 1.6pt + tone), inset: (left: 3.5mm, top: 0.6mm, bottom: 0.8mm), {
    block(below: 1.5mm, sticky: true, grid(columns: (1fr, auto), column-gutter: 4mm,
      [#text(fill: grey, size: 8.5pt)[#item.seq] #h(1.5mm) #strong(verbatim(item.label)) #if item.channel != "" { text(fill: grey, size: 8.5pt)[ · #item.channel] }],
      text(size: 8.5pt, fill: grey, item.at)))
    block(above: 1.5mm, below: 2.4mm, text(size: 8.5pt, fill: tone, hyphenate: false, item.grade))
    if item.facts.len() > 0 { block(above: 2.4mm, below: 1mm, facts(item.facts, label-width: 32mm, size: 8.5pt)) }
    for piece in item.raw { raw-box(piece.label, piece.lines) }
  })
}
#let qr = image(bytes(sys.inputs.qr), format: "svg", width: 27mm, alt: "QR code que abre a página de verificação deste documento")
#let verification(body) = block(breakable: false, width: 100%, above: 6mm, inset: 4mm, stroke: 0.6pt + pale, radius: 1.5mm, grid(
  columns: (27mm, 1fr), column-gutter: 6mm, align: horizon, qr, {
    text(weight: "bold", fill: accent)[Confira este documento]
    v(-1mm)
    text(size: 9pt, body)
    v(-0.5mm)
    small[Endereço]
    h(2mm)
    text(size: 8.5pt, verbatim(doc.verification.url))
    linebreak()
    small[Código]
    h(2mm)
    text(size: 11pt, weight: "bold", tracking: 0.5pt, slashed-zero: true, lang: "zxx", hyphenate: false, doc.verification.code)
  }))
#let status(item) = block(width: 100%, above: 3mm, below: 5mm, inset: (left: 4mm, y: 2.4mm), stroke: (left: 2.4pt + tones.at(item.tone)), {
  text(size: 15pt, weight: "bold", fill: tones.at(item.tone), hyphenate: false, item.text)
  if item.note != "" { linebreak(); text(size: 9.5pt, item.note) }
})

// The title, with who sends. A document of several pages of their own says it again on each.
#let title-block(title) = {
  grid(columns: (1fr, auto), column-gutter: 8mm, align: (left + horizon, right + horizon), {
    text(size: 9pt, fill: accent, weight: "bold", tracking: 0.6pt, upper(doc.kind))
    linebreak()
    v(-1mm)
    text(size: 17pt, weight: "bold", hyphenate: false, title)
  }, context {
    if sys.inputs.logo != "" {
      let high = image(sys.inputs.logo, height: 13mm, alt: "Logotipo de " + doc.sender.name)
      if measure(high).width > 50mm { image(sys.inputs.logo, width: 50mm, alt: "Logotipo de " + doc.sender.name) } else { high }
    } else { text(size: 12pt, weight: "bold", fill: accent, hyphenate: false, doc.sender.name) }
  })
  v(-1mm)
  line(length: 100%, stroke: 1pt + accent)
}

#let show-section(item) = {
  if item.kind == "chapter" { heading(level: 1, item.title) }
  else if item.kind == "heading" { heading(level: 2, item.title) }
  else if item.kind == "paragraph" { par(justify: true, if item.at("small", default: false) { text(size: 8.5pt, fill: grey, item.text) } else { item.text }) }
  else if item.kind == "title" { title-block(item.title) }
  else if item.kind == "facts" { block(above: 3mm, below: 4mm, if item.at("roomy", default: false) { facts(item.rows, gutter: 4.5mm) } else { facts(item.rows) }) }
  else if item.kind == "bottom" { v(1fr) }
  else if item.kind == "raw" { raw-box(item.label, item.lines) }
  else if item.kind == "events" { for entry in item.items { event-entry(entry) } }
  else if item.kind == "status" { status(item) }
  else if item.kind == "verification" { verification(item.text) }
  else if item.kind == "page" { pagebreak(weak: true) }
  else if item.kind == "message" {
    block(width: 100%, above: 3mm, below: 4mm, inset: 5mm, stroke: 0.6pt + pale, radius: 1mm, { set text(size: 9.5pt); for piece in item.blocks { show-block(piece) } })
  } else if item.kind == "steps" {
    enum(spacing: 1.1em, ..item.items.map(step => {
      step.text
      if "command" in step { block(above: 1.6mm, below: 0mm, width: 100%, fill: luma(96%), inset: 2mm, radius: 1mm, machine(step.command)) }
    }))
  } else if item.kind == "table" {
    set text(size: 8.5pt)
    block(above: 3mm, below: 4mm, table(
      columns: item.columns.map(share => share * 1fr),
      stroke: (x, y) => (bottom: if y == 0 { 0.8pt + accent } else { 0.4pt + pale }),
      inset: (x: 2mm, y: 1.7mm),
      table.header(..item.head.map(name => strong(name))),
      ..item.rows.flatten().map(value-of)
    ))
  }
}

#for item in doc.sections { show-section(item) }
`
