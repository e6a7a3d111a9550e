import fs, { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/app/config.js'
import { adoptNextKey, loadKeys, makeNextKey } from '../../src/app/database/keys.js'

/** What is written to the disk, and when: names, and the moments at which they are made to last. */
function watchDisk(): string[] {
  const { openSync, fsyncSync, linkSync, renameSync } = fs
  const opened = new Map<number, string>()
  const acts: string[] = []
  const nameOf = (path: fs.PathLike): string => basename(String(path)).replace(/-\d+$/, '')
  fs.openSync = (path, ...rest) => {
    const file = openSync(path, ...rest)
    opened.set(file, nameOf(path))
    return file
  }
  fs.fsyncSync = file => {
    fsyncSync(file)
    acts.push(`sync ${opened.get(file)}`)
  }
  fs.linkSync = (from, to) => {
    linkSync(from, to)
    acts.push(`link ${nameOf(to)}`)
  }
  fs.renameSync = (from, to) => {
    renameSync(from, to)
    acts.push(`rename ${nameOf(to)}`)
  }
  syncBuiltinESMExports()
  onTestFinished(() => {
    Object.assign(fs, { openSync, fsyncSync, linkSync, renameSync })
    syncBuiltinESMExports()
  })
  return acts
}

test('a key is on the disk, with its name and its folder, before the database can be sealed with it', () => {
  const root = mkdtempSync(join(tmpdir(), 'carteiro-keys-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const dataFolder = join(root, 'data')
  const config = readConfig({ CARTEIRO_DATA: dataFolder })
  const acts = watchDisk()
  const taken = (): string[] => acts.splice(0)

  loadKeys(config, true)
  const made = taken()
  expect(made.slice(0, 4)).toEqual([`sync ${basename(root)}`, 'sync master.key.new', 'link master.key', 'sync data'])
  // Another process may have made it, and not have come to the end.
  loadKeys(config, true)
  expect(taken()).toEqual(['sync data'])
  makeNextKey(config)
  expect(taken()).toEqual(['sync master.key.next.new', 'link master.key.next', 'sync data'])
  const key = makeNextKey(config)
  expect(taken().at(-1)).toBe('sync data')
  const next = readFileSync(join(dataFolder, 'master.key.next'), 'utf8')
  adoptNextKey(config, key)
  expect(taken()).toEqual(['rename master.key', 'sync data'])
  expect(readFileSync(join(dataFolder, 'master.key'), 'utf8')).toBe(next)
  expect(existsSync(join(dataFolder, 'master.key.next'))).toBe(false)
})

test('of two rotations to one key the second finds it adopted, and never takes the key of a later rotation for it', () => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'carteiro-keys-'))
  onTestFinished(() => rmSync(dataFolder, { recursive: true }))
  const config = readConfig({ CARTEIRO_DATA: dataFolder })
  const fileOf = (name: string): string => readFileSync(join(dataFolder, name), 'utf8').trim()
  loadKeys(config, true)
  const first = fileOf('master.key')
  const key = makeNextKey(config)
  adoptNextKey(config, key)
  adoptNextKey(config, key)
  expect(fileOf('master.key')).toBe(key.toString('hex'))
  // The database counts on the first key until the later rotation comes to it.
  const later = makeNextKey(config)
  adoptNextKey(config, key)
  expect([fileOf('master.key'), fileOf('master.key.next')]).toEqual([key.toString('hex'), later.toString('hex')])
  adoptNextKey(config, later)
  expect(() => adoptNextKey(config, Buffer.from(first, 'hex'))).toThrow('ENOENT')
})
