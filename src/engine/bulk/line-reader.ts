import { Refusal } from '../../domain/errors.js'
import type { SendRequest } from '../../domain/notification.js'
import type { BatchForm, BulkFields, LineFault } from '../../domain/send/bulk.js'
import { requestMaker } from '../../domain/send/bulk-request.js'

/** Reads a send request as POST /gw/email does, or refuses it. */
export type ReadRequest = (raw: Uint8Array) => SendRequest

/** Reads the lines of a batch: each is a send request, held to the rules of any other. */
export function lineReader(form: BatchForm, fields: BulkFields, read: ReadRequest) {
  const make = requestMaker(form, fields)
  return (cells: readonly string[]): SendRequest => {
    // Values in wrong columns would go to wrong people.
    if (cells.slice(form.columns.length).some(cell => cell !== ''))
      throw new Refusal('tooManyCells', [String(cells.length), String(form.columns.length)])
    return read(Buffer.from(JSON.stringify(make(cells))))
  }
}

/** The refusal of a line, with the column that filled in the member that it is about. */
export function faultOf({ message, details }: Refusal, { columns, mapping }: BatchForm): LineFault {
  const about = columns.find(column => (mapping[column] ?? []).some(path => details.includes(path)))
  return { message, column: about ?? null }
}
