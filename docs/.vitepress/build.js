import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Builds the guide into dist/guide, unless it was built from these very files: every start builds the project. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCS = join(ROOT, 'docs')
const STAMP = join(ROOT, 'dist/guide.sha256')

const sources = [
  ...readdirSync(DOCS, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.parentPath.includes('.temp'))
    .map(entry => join(entry.parentPath, entry.name)),
  ...['README.en.md', 'CHANGELOG.md', 'CONTRIBUTING.md', '.env.example', 'package-lock.json'].map(name => join(ROOT, name)),
].sort()
const hash = createHash('sha256')
for (const path of sources)
  hash.update(`${path.slice(ROOT.length)}\n`).update(createHash('sha256').update(readFileSync(path)).digest())
const stamp = `${hash.digest('hex')}\n`

const isBuilt = existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp && existsSync(join(ROOT, 'dist/guide/index.html'))
if (!isBuilt) {
  const { build } = await import('vitepress')
  await build(DOCS)
  writeFileSync(STAMP, stamp)
}
