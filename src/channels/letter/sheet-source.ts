import { BLOCKS, FACES } from '../../runtime/typesetting/faces.js'

/**
 * The A4 sheet in Typst. Folded at its marks, it shows the address in the window of DL and C5 envelopes: 20 mm from the left,
 * 50 mm from the top, 90 × 40 mm. The address keeps 5 mm from the window's sides and 2 mm from its top and bottom, because a folded
 * sheet moves inside its envelope.
 */
export const SHEET_SOURCE = `
#let sheet = json(bytes(sys.inputs.sheet))
#let receipt = json(bytes(sys.inputs.receipt))
#let typed = json(bytes(sys.inputs.typed))
#let accent = rgb(sheet.sender.color)
#let grey = luma(38%)
#let loud-headings = "edition" not in sheet
#let registered = sheet.layout == "registrada"

#set document(title: sheet.subject, author: sheet.sender.name, date: auto)
${FACES}
#set text(size: 11pt, lang: "pt", region: "BR", hyphenate: true)
#set par(justify: true, leading: 0.68em, spacing: 1.15em)

${BLOCKS}

#let small(body) = text(size: 8pt, fill: grey, body)
#let labelled(body, value) = { text(size: 6.5pt, fill: grey, tracking: 0.4pt, upper(body)); linebreak(); value }

// Names, addresses and codes are in no language: Portuguese repeats a hyphen at which a line is broken, and a code with a
// repeated hyphen is another code.
#let raw-text(body) = text(lang: "zxx", hyphenate: false, body)
#let unbroken(body) = box(raw-text(body))
// No line has room for such a long word, so it may be broken anywhere.
#let breakable(word) = if word.len() > 30 { word.clusters().join(h(0pt)) } else { word }
#let verbatim(body) = raw-text(if body.split(" ").any(word => word.len() > 30) { body.split(" ").map(breakable).join(" ") } else { body })

// A line is rather broken between two of these than inside one.
#let piece(body) = if body.len() < 60 { unbroken(body) } else { verbatim(body) }

// The largest of these sizes at which the content keeps to the height; make gets the factor.
#let fit(width, height, make) = context {
  let factors = (1, 0.92, 0.84, 0.76, 0.68, 0.6, 0.52, 0.46)
  let found = factors.find(factor => measure(block(width: width, make(factor))).height <= height)
  block(width: width, make(if found == none { factors.last() } else { found }))
}

// A letter that only the simulator printed says so on every page of the sender's copy.
#let simulated = if receipt != none and receipt.simulated {
  place(top + center, dy: 8mm, text(size: 8pt, weight: "bold", fill: rgb("#9b1c1c"), hyphenate: false)[SIMULADO: nada foi impresso nem postado])
  place(center + horizon, rotate(-38deg, text(size: 112pt, weight: "bold", fill: rgb(155, 28, 28, 34), hyphenate: false)[SIMULADO]))
}
#let chapter(body) = { v(6mm); text(weight: "bold", fill: accent, body); v(1mm) }
#if receipt != none {
  set page(paper: "a4", margin: (left: 25mm, right: 20mm, top: 22mm, bottom: 24mm), footer: none, foreground: simulated)
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
  block(breakable: false, width: 100%, inset: 4mm, stroke: 0.6pt + luma(82%), radius: 1.5mm, grid(
    columns: (25mm, 1fr), column-gutter: 6mm, align: horizon,
    image(bytes(sys.inputs.verification), format: "svg", width: 25mm, alt: "QR code que abre a página de verificação deste comprovante"), {
      text(size: 10pt, weight: "bold", fill: accent)[Confira este comprovante]
      linebreak()
      small[Qualquer pessoa pode conferi-lo em #raw-text(receipt.verification.url)]
      linebreak()
      small[Código] + h(2mm) + text(size: 11pt, weight: "bold", tracking: 0.5pt, slashed-zero: true, number-type: "lining", unbroken(receipt.verification.code))
    }))
  v(3mm)
  small[As páginas seguintes são a carta como foi impressa, menos os códigos da primeira, que só o destinatário recebe: o desta cópia abre este comprovante. SHA-256 do PDF entregue à impressão:]
  linebreak()
  text(font: "DejaVu Sans Mono", size: 7.5pt, receipt.sha256)
}

// Pages count from the letter's first: a receipt in front of it changes nothing about the letter.
#let page-number() = here().page() - locate(<start>).page() + 1
#let continued = context {
  if page-number() > 1 {
    grid(columns: (1fr, auto), small(sheet.sender.name), small[Ref. #unbroken(sheet.reference)])
    v(-1.5mm)
    line(length: 100%, stroke: 0.4pt + luma(75%))
  }
}
#let identity = sheet.sender.details.map(detail => piece(detail)).join(h(1.2em, weak: true))
#let foot = context {
  set par(justify: false, leading: 0.5em)
  line(length: 100%, stroke: 0.4pt + luma(75%))
  v(-1.5mm)
  grid(columns: (1fr, auto), column-gutter: 8mm,
    fit(140mm, 10mm, factor => text(size: 7.5pt * factor, fill: grey, identity)),
    small[Página #page-number() de #(locate(<end>).page() - locate(<start>).page() + 1)])
}

#let marks = context if page-number() == 1 {
  for y in (99mm, 198mm) { place(top + left, dx: 4mm, dy: y, line(length: 4mm, stroke: 0.3pt + luma(60%))) }
}

#set page(paper: "a4", margin: (left: 25mm, right: 20mm, top: 26mm, bottom: 24mm), header: continued, footer: foot, background: marks, foreground: simulated)
#metadata(none) <start>

#let badge = box(stroke: 0.8pt + accent, inset: (x: 7pt, y: 4.5pt), radius: 1.5pt, text(size: 8.5pt, weight: "bold", fill: accent, tracking: 0.6pt)[CARTA REGISTRADA])
#let logo = context {
  let high = image(sys.inputs.logo, height: 18mm)
  if measure(high).width > 70mm { image(sys.inputs.logo, width: 70mm) } else { high }
}
#let side = if sys.inputs.logo == "" { bottom } else { horizon }
#let name(size) = text(size: size, weight: "bold", fill: accent, verbatim(sheet.sender.name))
#place(top + left, dy: -14mm, block(width: 165mm, {
  set par(justify: false, leading: 0.5em)
  block(height: 18mm, width: 100%, grid(columns: (1fr, auto), column-gutter: 8mm, rows: 18mm,
    align(left + side, if sys.inputs.logo == "" { fit(if registered { 110mm } else { 165mm }, 18mm, factor => name(17pt * factor)) } else { logo }),
    align(right + side, {
      if sys.inputs.logo != "" { fit(80mm, 9mm, factor => align(right, name(10.5pt * factor))) }
      if sys.inputs.logo != "" and registered { v(-1mm) }
      if registered { badge }
    })))
  v(if sys.inputs.logo == "" { -1mm } else { -2mm })
  line(length: 100%, stroke: 1.2pt + accent)
}))

// Inside the window: 25 mm from the left edge, 52 mm from the top one, 80 × 36 mm.
#place(top + left, dy: 26mm, block(width: 80mm, height: 36mm, {
  set par(justify: false, leading: 0.5em, spacing: 0.62em)
  block(height: 8mm, width: 100%, clip: true, align(bottom, {
    let return-address = ("Rem.: " + sheet.sender.name, ..sheet.sender.lines).map(piece).join([ · ])
    fit(80mm, 7mm, factor => text(size: 6.5pt * factor, fill: grey, return-address))
  }))
  v(-1.2mm)
  line(length: 80mm, stroke: 0.3pt + luma(70%))
  v(0.2mm)
  fit(80mm, 25mm, factor => {
    text(size: 11pt * factor, weight: "bold", verbatim(sheet.recipient.name))
    for line in sheet.recipient.lines { parbreak(); text(size: 10.5pt * factor, verbatim(line)) }
  })
}))

#place(top + right, dy: 26mm, block(width: 68mm, {
  set align(left)
  set par(justify: false, leading: 0.5em, spacing: 0.9em)
  set text(hyphenate: false)
  labelled([Data], text(size: 9.5pt, sheet.date))
  parbreak()
  labelled([Referência], text(size: 8.5pt, unbroken(sheet.reference)))
  v(0.5mm)
  grid(columns: (25mm, 1fr), column-gutter: 4mm, align: (left + top, left + top),
    image(bytes(sys.inputs.qr), format: "svg", width: 25mm),
    if typed == none {
      labelled([Cópia do remetente], text(size: 8pt)[O código ao lado abre este comprovante. O da carta só o destinatário recebe.])
    } else {
      labelled([Confira esta carta], text(size: 8pt)[Aponte a câmera para o código ao lado ou digite no navegador])
      parbreak()
      // On one line, if it can be read so; otherwise broken at its dots.
      let address(size) = text(size: size, weight: "bold", raw-text(typed.address.split(".").join([.] + h(0pt))))
      context {
        let size = (9pt, 8.3pt, 7.6pt, 7pt).find(size => measure(address(size)).width <= 39mm)
        if size == none { fit(39mm, 8mm, factor => address(8pt * factor)) } else { address(size) }
      }
      parbreak()
      labelled([Código], text(size: 11pt, weight: "bold", tracking: 0.6pt, slashed-zero: true, number-type: "lining", unbroken(typed.code)))
    })
}))

#v(77mm)
#par(justify: false, text(size: 13pt, weight: "bold", hyphenate: false, sheet.subject))
#v(1mm)
#for piece in sheet.blocks { show-block(piece) }

#if registered {
  v(8mm)
  block(breakable: false, width: 100%, inset: 8pt, fill: luma(96%), stroke: (left: 2pt + accent), par(justify: false, text(size: 8.5pt, fill: grey, hyphenate: false)[Esta carta foi postada com registro: a entrega é acompanhada e comprovada. Para conferir quem a enviou, leia o código da primeira página ou digite-o no endereço impresso ao lado dele.]))
}
#metadata(none) <end>
`
