import { strToU8, zipSync } from 'fflate'

/** A cell of a sheet: a shared text, or what the XML has. */
export type Cell = string | { xml: string }

const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const columnName = (place: number): string =>
  (place < 26 ? '' : columnName(Math.floor(place / 26) - 1)) + String.fromCharCode(65 + (place % 26))

/** A workbook as spreadsheet programs write it: the shared texts come after the sheet. `parts`: files that take the place of these. */
export function spreadsheet(
  rows: readonly (readonly Cell[])[],
  {
    formats = [],
    date1904 = false,
    parts = {},
  }: { formats?: readonly (number | string)[]; date1904?: boolean; parts?: Record<string, string> } = {},
): Uint8Array {
  const texts: string[] = []
  const sharedAt = (text: string): number => (texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1)
  const sheet = rows
    .map((cells, index) => {
      const line = index + 1
      const written = cells.map((cell, place) => {
        const at = `r="${columnName(place)}${line}"`
        if (typeof cell !== 'string') return cell.xml.replace('<c', `<c ${at}`)
        return cell === '' ? '' : `<c ${at} t="s"><v>${sharedAt(cell)}</v></c>`
      })
      return `<row r="${line}">${written.join('')}</row>`
    })
    .join('')
  const codes = formats.map((format, index) =>
    typeof format === 'string' ? `<numFmt numFmtId="${164 + index}" formatCode="${format}"/>` : '',
  )
  const styles = formats.map((format, index) => `<xf numFmtId="${typeof format === 'string' ? 164 + index : format}"/>`)
  const files = {
    'xl/workbook.xml': `${head}<workbook ${main} xmlns:r="x"><workbookPr${date1904 ? ' date1904="1"' : ''}/><sheets><sheet name="Dados" sheetId="1" r:id="rId7"/><sheet name="Outra" sheetId="2" r:id="rId8"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${head}<Relationships><Relationship Id="rId8" Target="worksheets/sheet2.xml"/><Relationship Id="rId7" Target="worksheets/sheet1.xml"/></Relationships>`,
    'xl/worksheets/sheet1.xml': `${head}<worksheet ${main}><sheetData>${sheet}</sheetData></worksheet>`,
    'xl/worksheets/sheet2.xml': `${head}<worksheet ${main}><sheetData><row r="1"><c r="A1"><v>1</v></c></row></sheetData></worksheet>`,
    'xl/styles.xml': `${head}<styleSheet ${main}><numFmts>${codes.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `${head}<sst ${main}>${texts.map(text => `<si><r><t>${escapeXml(text.slice(0, 1))}</t></r><rPh><t>não</t></rPh><r><t xml:space="preserve">${escapeXml(text.slice(1))}</t></r></si>`).join('')}</sst>`,
    ...parts,
  }
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)])))
}
