import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import tailwind from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const OUT = new URL('../dist/console', import.meta.url).pathname
const COMPRESSED = /\.(js|css|svg)$/

/** Compressed once, at the best level, instead of at every request. */
const precompress = (): Plugin => ({
  name: 'precompress',
  closeBundle() {
    const folder = join(OUT, 'assets')
    for (const name of readdirSync(folder).filter(name => COMPRESSED.test(name))) {
      const bytes = readFileSync(join(folder, name))
      writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }))
      writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes))
    }
  },
})

export default defineConfig({
  root: new URL('.', import.meta.url).pathname,
  base: '/console/',
  plugins: [react(), tailwind(), precompress()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    // A file of its own: data: URLs of scripts and fonts would be refused by the policy of the pages.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Says which file needs which: a test adds up the first load.
    manifest: true,
  },
})
