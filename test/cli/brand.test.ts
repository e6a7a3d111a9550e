import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { insertAccount } from '../../src/store/accounts/accounts.js'
import { runCommand } from '../support/command.js'
import { dataFolder } from '../support/data-folder.js'
import { databaseForTest } from '../support/database.js'

test('account set and account logo: what they take, and how they refuse', async () => {
  const data = dataFolder()
  const { url, pool } = await databaseForTest()
  const now = Date.now()
  await insertAccount(pool, { id: newId(now), name: 'acme', entityId: newId(now), entityName: 'acme', settings: {} })

  const refused = await runCommand(['account', 'set', '--account', 'acme', 'brand.color=#ffcc00'], url)
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain('brand.color: #ffcc00 tem contraste 1,5 com o branco')

  const files = { svg: '<svg xmlns="http://www.w3.org/2000/svg"/>', html: '<html></html>', large: `<svg>${' '.repeat(100_001)}` }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(data, `${name}.png`), text)
  const logo = (...args: string[]) => runCommand(['account', 'logo', '--account', 'acme', '--json', ...args], url)
  const saved = await logo(join(data, 'svg.png'))
  expect(saved.stderr).toBe('')
  expect(JSON.parse(saved.stdout)).toMatchObject({ type: 'image/svg+xml', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect((await logo(join(data, 'html.png'))).stderr).toContain('não é uma imagem PNG, JPEG ou SVG')
  expect((await logo(join(data, 'large.png'))).stderr).toContain('o limite é 100000')
  expect((await logo(join(data, 'missing.png'))).stderr).toContain('Não foi possível ler')
  expect((await logo()).stderr).toContain('--clear')
  expect((await pool.query('select type from logo')).rows).toEqual([{ type: 'image/svg+xml' }])
  expect((await logo('--clear')).status).toBe(0)
  expect((await pool.query('select from logo')).rowCount).toBe(0)
  const { rows } = await pool.query("select detail from audit where action = 'account logo' order by id")
  expect(rows.map(({ detail }) => typeof detail.sha256)).toEqual(['string', 'object'])
})
