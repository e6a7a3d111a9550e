import { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler'

/** A finished PDF, as the compiler makes it: two pages, a link, and for PDF/A-3 an embedded file. */
export function typstPdf(standard: 'a-2b' | 'a-3b', embedded: Buffer | null = null): Buffer {
  const compiler = NodeCompiler.create({ workspace: '/carteiro-test' })
  if (embedded !== null) compiler.mapShadow('/carteiro-test/evidencia.zip', embedded)
  const embed = '#pdf.embed("evidencia.zip", relationship: "source", mime-type: "application/zip")\n'
  const text = '#set document(title: "Laudo")\n= Laudo\n#link("https://example.com")[ligação]\n#pagebreak()\nFim'
  const compiled = compiler.compile({ mainFileContent: (embedded === null ? '' : embed) + text })
  if (compiled.result === null) throw new Error(JSON.stringify(compiler.fetchDiagnostics(compiled.takeDiagnostics()!)))
  return Buffer.from(compiler.pdf(compiled.result, { pdfStandard: standard, creationTimestamp: 1_763_301_600 }))
}
