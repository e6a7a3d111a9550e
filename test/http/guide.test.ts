import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fastify from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { addGuide } from '../../src/http/guide.js'

const folder = mkdtempSync(join(tmpdir(), 'guide-'))
afterAll(() => rmSync(folder, { recursive: true }))

const SCRIPT = "document.documentElement.classList.add('x')"
const PAGE = `<!doctype html><script id="a">${SCRIPT}</script><script src="/docs/guia/assets/app.1.js"></script><p style="color:red">Olá</p>`
for (const name of ['assets', 'en']) mkdirSync(join(folder, name))
for (const name of ['index.html', 'inicio.html', 'en/index.html', '404.html']) writeFileSync(join(folder, name), PAGE)
writeFileSync(join(folder, 'inicio.html.gz'), gzipSync(PAGE))
writeFileSync(join(folder, 'assets/app.1.js'), '1')
writeFileSync(join(folder, 'exemplo.zip'), 'PK')
writeFileSync(join(folder, '../outside.html'), 'outside')
afterAll(() => rmSync(join(folder, '../outside.html')))

function appOver(path: string) {
  const app = fastify({ routerOptions: { ignoreTrailingSlash: true } })
  addGuide(app, { folder: path })
  return app
}
const app = appOver(folder)

test('a page is found without its ending, compressed where that is taken, and asked for again', async () => {
  const { statusCode, headers, body } = await app.inject('/docs/guia/inicio')
  expect([statusCode, body]).toEqual([200, PAGE])
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'x-frame-options': 'DENY',
  })
  const packed = await app.inject({ url: '/docs/guia/inicio', headers: { 'accept-encoding': 'gzip, br' } })
  expect(packed.headers['content-encoding']).toBe('gzip')
})

test('nothing inline is run or shown but what was built, and nothing comes from elsewhere', async () => {
  const policy = String((await app.inject('/docs/guia/')).headers['content-security-policy'])
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  expect(policy).toContain(`script-src 'self' ${hash(SCRIPT)};`)
  expect(policy).toContain(hash('color:red'))
  expect(policy).toContain("default-src 'none'")
  expect(policy).not.toMatch(/unsafe-inline|unsafe-eval|https?:/)
})

test('a folder without its slash leads to the one with it, with the question that was asked', async () => {
  expect((await app.inject('/docs/guia?x=1')).headers.location).toBe('/docs/guia/?x=1')
  expect((await app.inject('/docs/guia/en')).headers.location).toBe('/docs/guia/en/')
  expect((await app.inject('/docs/guia/en/')).statusCode).toBe(200)
})

test('files with a hash in their name are kept; an unknown page says so, and nothing outside is reached', async () => {
  const asset = await app.inject('/docs/guia/assets/app.1.js')
  expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect((await app.inject('/docs/guia/exemplo.zip')).headers['content-type']).toBe('application/zip')
  const lost = await app.inject('/docs/guia/nada')
  expect([lost.statusCode, lost.body]).toEqual([404, PAGE])
  for (const url of ['/docs/guia/nada.js', '/docs/guia/..%2foutside.html', '/docs/guia/%2e%2e/outside.html']) {
    expect((await app.inject(url)).statusCode, url).toBe(404)
  }
})

test('where it was not built, the page says how', async () => {
  const { statusCode, body } = await appOver(join(folder, 'nowhere')).inject('/docs/guia/')
  expect(statusCode).toBe(503)
  expect(body).toContain('npm run build')
})
