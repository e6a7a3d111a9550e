import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** What the program and the workers of drills consist of. */
const PARTS = ['src', 'simulator', 'client', 'console', 'guide', 'test/drills', 'test/support']
export const NEW_VERSION = '99.0.0'
export const NEW_COLUMN = 'drill_mark'
export const NEW_INDEXES = ['delivery_drill_mark', 'notification_drill_mark']

/** The first half of a change in two steps: what the version before does not know, and does not need to know. */
const expand = `-- Marks of a newer version.
-- compatible since NUMBER
alter table delivery add column ${NEW_COLUMN} text;
alter table notification add column ${NEW_COLUMN} text;
`
const index = `-- Marks are looked for.
-- compatible since NUMBER
create index concurrently if not exists delivery_drill_mark on delivery (${NEW_COLUMN}, notification_id) where ${NEW_COLUMN} is not null;
create index concurrently if not exists notification_drill_mark on notification (account_id, ${NEW_COLUMN});
`

export interface NewVersion {
  /** Its build. */
  dist: string
  migrations: string[]
}

/** Writes a copy of this build into the folder, with two more migrations and another version number. */
export function writeNewVersion(folder: string): NewVersion {
  for (const part of PARTS) {
    const from = join(ROOT, 'dist', part)
    if (!existsSync(from)) continue
    mkdirSync(join(folder, 'dist', part), { recursive: true })
    cpSync(from, join(folder, 'dist', part), { recursive: true, filter: path => !path.endsWith('.map') })
  }
  cpSync(join(ROOT, 'migrations'), join(folder, 'migrations'), { recursive: true })
  symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(folder, 'node_modules'))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as object
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: NEW_VERSION }))
  const numbers = readdirSync(join(folder, 'migrations')).flatMap(name => (/^\d{4}/.test(name) ? [Number(name.slice(0, 4))] : []))
  const newest = Math.max(...numbers)
  const digits = (number: number): string => String(number).padStart(4, '0')
  const files = {
    [`${digits(newest + 1)}_marks.sql`]: expand,
    [`${digits(newest + 2)}_marks.concurrent.sql`]: index,
  }
  for (const [name, sql] of Object.entries(files))
    writeFileSync(join(folder, 'migrations', name), sql.replace('NUMBER', digits(newest)))
  return { dist: join(folder, 'dist'), migrations: Object.keys(files) }
}
