import { describe, expect, test } from 'vitest'
import { importsOf, listFiles, readSource, withoutComments } from '../support/sources.js'

const files = listFiles('simulator').filter(path => path.endsWith('.ts'))
const folderOf = (path: string): string => path.split('/').slice(1, -1).join('/')
const channels = [...new Set(files.map(folderOf))].filter(folder => folder !== '' && folder !== 'http')
const isCore = (path: string): boolean => !channels.includes(folderOf(path)) && path !== 'simulator/registry.ts'

const imports = files.flatMap(from =>
  importsOf(from).flatMap(({ path }) => (path === null ? [] : [{ from, to: path, text: `${from} imports ${path}` }])),
)

describe('the structure of the simulator', () => {
  test('every folder but http is a channel in the registry', () => {
    expect(channels.length).toBeGreaterThan(4)
    const registered = imports.filter(({ from, to }) => from === 'simulator/registry.ts' && channels.includes(folderOf(to)))
    expect(registered.map(({ to }) => to)).toEqual(channels.map(channel => `simulator/${channel}/channel.ts`))
  })

  test('of the product the simulator imports only the domain', () => {
    const outside = imports.filter(({ to }) => !to.startsWith('simulator/'))
    expect(outside.length).toBeGreaterThan(0)
    expect(outside.filter(({ to }) => !to.startsWith('src/domain/')).map(({ text }) => text)).toEqual([])
  })

  test('only the registry imports a channel, and no channel imports another', () => {
    const wrong = imports.filter(
      ({ from, to }) =>
        to.startsWith('simulator/') &&
        channels.includes(folderOf(to)) &&
        folderOf(to) !== folderOf(from) &&
        from !== 'simulator/registry.ts',
    )
    expect(wrong.map(({ text }) => text)).toEqual([])
  })

  test('the core names no channel and no protocol of a carrier', () => {
    const names = new RegExp(`\\b(${[...channels, 'e-?mail', 'mails?', 'smtp', 'smpp', 'twilio', 'zenvia'].join('|')})\\b`, 'i')
    const found = files
      .filter(isCore)
      .map(path => ({ path, name: names.exec(withoutComments(readSource(path)))?.[0] }))
      .filter(({ name }) => name !== undefined)
    expect(found).toEqual([])
  })
})
