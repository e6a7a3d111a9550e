import { refuse } from '../../domain/errors.js'
import { MIB } from '../../domain/units.js'

/** These hold for each row while it is read: a file of a kilobyte may claim millions of cells. Columns without a value do not count. */
export const MAX_COLUMNS = 200
export const MAX_ROW_CHARACTERS = MIB

export const tooManyColumns = (line: number): never => refuse('tooManyColumns', String(line), String(MAX_COLUMNS))
