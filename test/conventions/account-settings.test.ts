import { expect, test } from 'vitest'
import { channelModules } from '../../src/channels/registry.js'
import { coreSettings } from '../../src/domain/account.js'
import { readSource } from '../support/sources.js'

test('docs/contas.md has a row for every account setting, and for no other', () => {
  const [, section = ''] = readSource('docs/contas.md').split('## Configurações de uma conta')
  // The first cell of a row names one setting or several.
  const cells = [...section.matchAll(/^\| (`[^|]+) \|/gm)].map(([, cell]) => cell!)
  const documented = cells.flatMap(cell => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!))
  const settings = [coreSettings, ...channelModules.map(module => module.settings)].flatMap(table => Object.keys(table))
  expect(documented.sort()).toEqual(settings.sort())
})
