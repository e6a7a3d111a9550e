/**
 * The second font has the symbols that the first one lacks: ticks, boxes, arrows, telephones. It has them upright only, and a
 * show rule cannot force that where emph() is used.
 */
export const FACES = String.raw`
#set text(font: ("Libertinus Serif", "DejaVu Sans Mono"), fallback: false)
#show regex("[\u{2190}-\u{2bff}]"): set text(weight: "regular", style: "normal")
`

/**
 * Prints the blocks of a text (blocks.ts) with show-block. The document defines the colour `accent` before it, and `loud-headings`,
 * which is true for what was printed with them only.
 */
export const BLOCKS = String.raw`
#let print(runs) = for run in runs {
  if run.text == "\n" { linebreak() } else {
    let words = [#run.text]
    if "italic" in run { words = text(style: "italic", words) }
    if "bold" in run { words = strong(words) }
    if "underline" in run { words = underline(words) }
    words
  }
}

// No heading of a content stands out more than the subject above it.
#let show-head(level, body) = if loud-headings {
  text(size: (15pt, 12.5pt, 11.5pt).at(level - 1), weight: "bold", fill: accent, hyphenate: false, body)
} else {
  text(size: (1.12em, 1.06em, 1em).at(level - 1), weight: "bold", hyphenate: false, body)
}

#let spans-of(row) = row.at("spans", default: row.cells.map(_ => (1, 1)))
#let length-of(rows) = rows.map(row => row.cells.flatten().map(run => run.text.len()).sum(default: 0)).sum()
// The rows that are repeated on every page: the first one, with those that its cells reach into. A head that fills pages is repeated on none.
#let header-of(rows) = {
  let height = 1
  for y in range(4) { if y < height { height = calc.max(height, ..spans-of(rows.at(y)).map(((_, down)) => y + down)) } }
  let head = rows.slice(0, height)
  if height <= 4 and head.all(row => row.head) and length-of(head) <= 1000 { height } else { 0 }
}
// The typesetter would put all that a wide cell needs into the last of its columns. As in browsers, each gets its share.
#let spread-columns(rows, columns, room) = {
  let widths = range(columns).map(_ => 12pt)
  let reached = range(columns).map(_ => 0)
  let wide = ()
  for (y, row) in rows.enumerate() {
    let x = 0
    for cell in row {
      while reached.at(x) > y { x += 1 }
      let needed = measure(cell.body).width + 12pt
      if cell.colspan > 1 { wide.push((x, x + cell.colspan, needed)) } else { widths.at(x) = calc.max(widths.at(x), needed) }
      for taken in range(x, x + cell.colspan) { reached.at(taken) = y + cell.rowspan }
      x += cell.colspan
    }
  }
  if widths.sum() > room { return columns }
  for (from, to, needed) in wide {
    let has = widths.slice(from, to).sum()
    let more = calc.min(needed - has, room - widths.sum())
    if more > 0pt { for x in range(from, to) { widths.at(x) *= 1 + more / has } }
  }
  widths
}
#let show-table(rows) = {
  let columns = calc.max(..rows.map(row => spans-of(row).map(((across, _)) => across).sum()))
  let header = header-of(rows)
  // What was stored without spans may have rows that end early.
  let filled = rows.any(row => "spans" in row)
  let below(y) = (bottom: if y == header { 0.8pt + accent } else { 0.4pt + luma(75%) })
  let cells = rows.enumerate().map(((y, row)) => {
    let shown = row.cells.zip(spans-of(row)).map(((runs, (across, down))) => {
      let body = print(runs)
      table.cell(colspan: across, rowspan: down, stroke: below(y + down), if row.head { strong(body) } else { body })
    })
    shown + range(if filled { 0 } else { columns - row.cells.len() }).map(_ => table.cell(stroke: below(y + 1), []))
  })
  set par(justify: false)
  set text(size: 10pt)
  let set-in(tracks) = table(
    columns: tracks,
    stroke: none,
    inset: (x: 6pt, y: 5pt),
    ..if header > 0 { (table.header(..cells.slice(0, header).flatten()),) },
    ..cells.slice(header).flatten(),
  )
  let spread = filled and rows.len() <= 200
  block(above: 1.2em, below: 1.4em, if spread { layout(size => set-in(spread-columns(cells, columns, size.width))) } else { set-in(columns) })
}
#let show-block(piece) = {
  if piece.kind == "paragraph" {
    // The best breaks of a very long paragraph take seconds to find; the first good ones take none.
    let breaks = if piece.runs.map(run => run.text.len()).sum() > 3000 { "simple" } else { "optimized" }
    let body = par(justify: piece.align == "left", linebreaks: breaks, print(piece.runs))
    if piece.align == "left" { body } else { align(if piece.align == "center" { center } else { right }, body) }
  } else if piece.kind == "heading" {
    block(above: 1.6em, below: 0.9em, sticky: true, par(justify: false, show-head(piece.level, print(piece.runs))))
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
`
