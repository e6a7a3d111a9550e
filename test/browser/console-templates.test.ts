import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { missingBrowser } from './browser.js'
import { type ConsoleDemo, openDemo } from './console-browser.js'

const title = missingBrowser === null ? 'in Chromium' : `in Chromium: ${missingBrowser}`

describe.skipIf(missingBrowser !== null)(title, () => {
  let screen: ConsoleDemo
  beforeAll(async () => {
    screen = await openDemo()
  })
  afterAll(() => screen?.close())

  test('a template is made, seen, edited into a second version, compared, shared and switched off', async () => {
    const { page, stack, look, api, problems } = screen
    await api('/gw/templates', 'POST', {
      nome: 'Aviso de nome comprido que não cabe em uma linha de um telefone celular pequeno',
      tipo: 'email',
      conteudo: '<p>{{ nome }}</p><script>document.title = "x"</script>',
    })
    await page.goto(`${stack.gateway.url}/console/templates`)
    await page.getByRole('row', { name: /aviso-curto/ }).waitFor()
    await look('templates')
    await page.getByRole('button', { name: 'Novo template' }).click()
    await page.getByLabel('Nome', { exact: true }).fill('cobranca')
    await page.getByLabel('Canal').selectOption('sms')
    await page.getByLabel('Conteúdo').fill('Olá {nome}')
    await page.getByRole('alert').filter({ hasText: '{{ nome }}' }).waitFor()
    await page.getByLabel('Conteúdo').fill('Olá {{ nome }}, há um aviso:\n{SHORT_LINK}')
    await page.getByLabel('Valor de exemplo de nome').fill('João')
    await page.getByText(/Olá João, há um aviso/).waitFor()
    await page.getByText(/1 parte de SMS/).waitFor()
    await page.getByRole('button', { name: 'Salvar' }).click()
    await page.getByRole('heading', { name: 'cobranca' }).waitFor()
    await page.getByLabel('Conteúdo').fill('Olá {{ nome }}, há uma cobrança de {{ valor }}:\n{SHORT_LINK}')
    await page.getByLabel('valor é obrigatória').uncheck()
    await page.getByLabel(/Compartilhar com as outras contas/).check()
    await look('template')
    await page.getByRole('button', { name: 'Salvar como versão 2' }).click()
    await page.getByRole('tab', { name: 'Versões (2)' }).click()
    const difference = page.getByRole('list', { name: 'Diferença entre as versões' })
    await expect
      .poll(() => difference.getByRole('listitem').allTextContents())
      .toEqual([
        expect.stringContaining('retirada: Olá {{ nome }}, há um aviso:'),
        expect.stringContaining('acrescentada: Olá {{ nome }}, há uma cobrança de {{ valor }}:'),
        '{SHORT_LINK}',
      ])
    await look('template-versions')
    await page.getByRole('tab', { name: 'Editar' }).click()
    await page.getByLabel(/^Ativo/).uncheck()
    await page.getByRole('button', { name: 'Salvar' }).click()
    type Stored = { nome: string; versao: number; ativo: boolean; variaveis: object[]; compartilhadoComEntidade: boolean }
    const stored = async () =>
      ((await api('/gw/templates')).body as { data: Stored[] }).data.find(({ nome }) => nome === 'cobranca')
    await expect.poll(async () => (await stored())?.ativo).toBe(false)
    expect(await stored()).toMatchObject({
      versao: 2,
      compartilhadoComEntidade: true,
      variaveis: [
        { nome: 'nome', obrigatoria: true },
        { nome: 'valor', obrigatoria: false },
      ],
    })
    // A sender's markup is shown in a frame in which nothing runs; the browser notes that it refused the script.
    await page.getByRole('link', { name: 'Todos os templates' }).click()
    await page.getByRole('link', { name: /Aviso de nome comprido/ }).click()
    await page.frameLocator('iframe[title="O template preenchido"]').frameLocator('iframe').getByText('[nome]').waitFor()
    expect(await page.title()).not.toBe('x')
    // What the carrier must know of its approved template is kept with ours, without a version of its own.
    await page.getByRole('link', { name: 'Todos os templates' }).click()
    await page.getByRole('link', { name: /notificacao_contrato/ }).click()
    await expect.poll(() => page.getByLabel('Botão com o link').inputValue()).toBe('0')
    await page.getByLabel('Parâmetros').selectOption({ label: 'Com nome' })
    await page.getByRole('group', { name: 'Variáveis do cabeçalho' }).getByLabel('contrato').check()
    await look('template-metadata')
    await page.getByRole('button', { name: 'Salvar', exact: true }).click()
    await expect
      .poll(async () => (await api('/gw/templates')).body)
      .toMatchObject({
        data: expect.arrayContaining([
          expect.objectContaining({
            nome: 'notificacao_contrato',
            versao: 1,
            metadata: { botaoLink: 0, parametros: 'nomeados', cabecalho: ['contrato'] },
          }),
        ]),
      })
    expect(problems()).toEqual([])
  })

  test('a text that is not saved survives another tab, and a version that a colleague saves meanwhile', async () => {
    const { page, stack, look, api } = screen
    const made = await api('/gw/templates', 'POST', { nome: 'lembrete', tipo: 'sms', conteudo: 'Primeiro texto' })
    const { id } = (made.body as { data: { id: string } }).data
    await page.goto(`${stack.gateway.url}/console/templates?id=${id}`)
    const content = page.getByLabel('Conteúdo')
    await content.fill('Texto que ainda não salvei')
    await page.getByRole('tab', { name: /^Versões/ }).click()
    await content.waitFor({ state: 'hidden' })
    await page.getByRole('tab', { name: 'Editar' }).click()
    expect(await content.inputValue()).toBe('Texto que ainda não salvei')

    const saveElsewhere = async (conteudo: string): Promise<void> => {
      expect((await api(`/gw/templates/${id}`, 'PUT', { conteudo })).status).toBe(200)
      // As when the person comes back to the window.
      await expect
        .poll(async () => {
          await page.evaluate("document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))")
          return page.getByRole('tab', { name: /^Versões/ }).textContent()
        })
        .toBe(`Versões (${++versions})`)
    }
    let versions = 1
    await saveElsewhere('Texto da colega')
    await page.getByText('Outra pessoa mudou este template').waitFor()
    expect(await content.inputValue()).toBe('Texto que ainda não salvei')
    await look('template-newer')
    await page.getByRole('button', { name: 'Descartar o meu e ver o dela' }).click()
    await expect.poll(() => content.inputValue()).toBe('Texto da colega')
    // Without a change of one's own there is nothing to keep.
    await saveElsewhere('Outro texto da colega')
    await expect.poll(() => content.inputValue()).toBe('Outro texto da colega')
    await content.fill('O meu texto')
    await page.getByRole('button', { name: 'Salvar como versão 4' }).click()
    await page.getByRole('tab', { name: 'Versões (4)' }).waitFor()
    await page.getByText('Outra pessoa mudou este template').waitFor({ state: 'detached' })
    expect(await content.inputValue()).toBe('O meu texto')
  })
})
