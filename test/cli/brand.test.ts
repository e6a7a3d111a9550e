import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newId } from '../../src/domain/id.js'
import { insertAccount } from '../../src/store/accounts/accounts.js'
import { dataFolder } from '../support/database/data-folder.js'
import { databaseForTest } from '../support/database/database.js'
import { runCommand } from '../support/gateway/command.js'
import { pngOf } from '../support/programs/pictures.js'

test('account set and account logo: what they take, and how they refuse', async () => {
  const data = dataFolder()
  const { url, pool } = await databaseForTest()
  const now = Date.now()
  await insertAccount(pool, { id: newId(now), name: 'acme', entityId: newId(now), entityName: 'acme', settings: {} })

  const refused = await runCommand(['account', 'set', '--account', 'acme', 'brand.color=#ffcc00'], url)
  expect(refused.status).toBe(1)
  expect(refused.stderr).toContain('brand.color: #ffcc00 tem contraste 1,5 com o branco')
  const wrong = ['sender.document=11.222.333/0001-80', 'sender.phone=ligue', 'sender.site=aurora', 'sender.privacy=ninguém']
  const refusal = await runCommand(['account', 'set', '--account', 'acme', ...wrong], url)
  expect(refusal.status).toBe(1)
  for (const message of [
    'sender.document: 11.222.333/0001-80 não é um CNPJ: os dígitos verificadores não conferem',
    'sender.phone: telefone de quem envia, com DDD, como',
    'sender.site: site de quem envia, que começa por https://',
    'sender.privacy: contato do encarregado de dados pessoais (LGPD): um e-mail, ou',
  ]) {
    expect(refusal.stderr).toContain(message)
  }
  const identity = ['sender.legalName=Acme S.A.', 'sender.document=11.222.333/0001-81', 'sender.privacy=dados@acme.com.br']
  const stated = await runCommand(['account', 'set', '--account', 'acme', '--json', ...identity], url)
  expect(JSON.parse(stated.stdout).settings).toMatchObject({
    'sender.legalName': 'Acme S.A.',
    'sender.document': '11222333000181',
    'sender.privacy': 'dados@acme.com.br',
  })

  const files = { svg: '<svg xmlns="http://www.w3.org/2000/svg"/>', html: '<html></html>', large: `<svg>${' '.repeat(100_001)}` }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(data, `${name}.png`), text)
  const logo = (...args: string[]) => runCommand(['account', 'logo', '--account', 'acme', '--json', ...args], url)
  const saved = await logo(join(data, 'svg.png'))
  expect(saved.stderr).toBe('')
  expect(JSON.parse(saved.stdout)).toMatchObject({ type: 'image/svg+xml', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect((await logo(join(data, 'html.png'))).stderr).toContain('não é uma imagem PNG, JPEG ou SVG')
  expect((await logo(join(data, 'large.png'))).stderr).toContain('o limite é 100000')
  writeFileSync(join(data, 'huge.png'), pngOf(2_001, 2_000))
  expect((await logo(join(data, 'huge.png'))).stderr).toContain('tem 2001 × 2000 pixels; o limite é de 4000000')
  expect((await logo(join(data, 'missing.png'))).stderr).toContain('Não foi possível ler')
  expect((await logo()).stderr).toContain('--clear')
  const current = async () => (await pool.query('select g.type from account a join logo g on g.sha256 = a.logo')).rows
  expect(await current()).toEqual([{ type: 'image/svg+xml' }])
  expect((await logo('--clear')).status).toBe(0)
  expect(await current()).toEqual([])
  // Messages that have gone out still show it.
  expect((await pool.query('select from logo')).rowCount).toBe(1)
  const { rows } = await pool.query("select detail from audit where action = 'account logo' order by id")
  expect(rows.map(({ detail }) => typeof detail.sha256)).toEqual(['string', 'object'])
})
