import { execFileSync, spawnSync } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findProgram } from '../support/programs/other-programs.js'
import { listFiles, ROOT, readSource } from '../support/sources.js'
import { temporaryFolder } from '../support/temporary-folder.js'
import { units } from './files.js'
import { placeCertificate, placeNginx } from './proxy-config.js'

/** The files of deploy/, checked by the programs that they are for. A missing program skips its test, by name. */
const given = (name: string): [name: string, options: { skip: boolean }] => {
  const missing = findProgram(name) === null
  return [missing ? ` (missing: ${name})` : '', { skip: missing }]
}

const [nginxNote, nginx] = given('nginx')
test(`nginx takes nginx.conf${nginxNote}`, nginx, () => {
  const folder = temporaryFolder()
  const path = placeNginx({ folder, https: 44_300, http: 8_081, api: 8_080 }, placeCertificate(folder))
  const { status, stderr } = spawnSync(findProgram('nginx')!, ['-t', '-q', '-e', 'stderr', '-c', path], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

const [caddyNote, caddy] = given('caddy')
test(`caddy takes the Caddyfile, as it would write it itself${caddyNote}`, caddy, () => {
  const path = join(ROOT, 'deploy/proxy/Caddyfile')
  const env = { HOME: temporaryFolder(), PATH: process.env.PATH }
  const { status, stderr } = spawnSync(findProgram('caddy')!, ['validate', '--adapter', 'caddyfile', '--config', path], {
    encoding: 'utf8',
    env,
  })
  expect(status, stderr).toBe(0)
  expect(stderr).not.toMatch(/"level":"(warn|error)"/)
  expect(execFileSync(findProgram('caddy')!, ['fmt', path], { encoding: 'utf8', env })).toBe(readSource('deploy/proxy/Caddyfile'))
})

const [systemdNote, systemd] = given('systemd-analyze')
test(`systemd takes the units${systemdNote}`, systemd, () => {
  const folder = temporaryFolder()
  const names = listFiles('deploy/systemd').filter(path => path.endsWith('.service'))
  for (const path of names) {
    // Verified with the program where it would be installed, which it is not here.
    const text = readSource(path).replaceAll('/opt/carteiro/bin/carteiro', '/bin/sh')
    expect(text).not.toBe(readSource(path))
    writeFileSync(join(folder, path.split('/').at(-1)!), text)
  }
  const files = names.map(path => join(folder, path.split('/').at(-1)!))
  const { status, stderr } = spawnSync(findProgram('systemd-analyze')!, ['verify', '--man=no', ...files], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

const [kubectlNote, kubectl] = given('kubectl')
test(`kustomize builds all manifests, with the image that it names${kubectlNote}`, kubectl, () => {
  const built = execFileSync(findProgram('kubectl')!, ['kustomize', join(ROOT, 'deploy/kubernetes')], { encoding: 'utf8' })
  expect(built.match(/^kind: /gm)).toHaveLength(17)
  const { version } = JSON.parse(readSource('package.json')) as { version: string }
  expect(built.match(new RegExp(`image: registry\\.example\\.com/carteiro:${version}$`, 'gm'))).toHaveLength(3)
})

test('a command on a systemd installation gets its arguments as they were typed', () => {
  const folder = temporaryFolder()
  // systemd itself reads $$ as $, here sed does.
  writeFileSync(join(folder, 'systemd-run'), `#!/bin/sh\nprintf '%s\\n' "$@" | sed 's/\\$\\$/$/g'\n`, { mode: 0o755 })
  const words = ['queue', 'list', '--text', 'a  b', '$HOME', "it's", '']
  const printed = execFileSync('sh', [join(ROOT, 'deploy/systemd/carteiro.sh'), ...words], {
    encoding: 'utf8',
    env: { PATH: `${folder}:${process.env.PATH}` },
  }).split('\n')
  expect(printed.slice(-words.length - 2, -1)).toEqual(['/opt/carteiro/bin/carteiro', ...words])
  expect(printed).toContain('--uid=carteiro')
  // systemd makes the folder, also for a command before the first start of the service: a restore comes before it.
  const [unit] = units()
  for (const name of ['StateDirectory', 'StateDirectoryMode', 'WorkingDirectory'])
    expect(printed).toContain(`--property=${name}=${unit!.valuesOf(name)[0]}`)
})

test('the program runs from the folder of its version, to which a link leads', () => {
  const link = join(temporaryFolder(), 'carteiro')
  symlinkSync(ROOT, link)
  const { version } = JSON.parse(readSource('package.json')) as { version: string }
  expect(execFileSync(join(link, 'bin/carteiro'), ['--version'], { encoding: 'utf8', cwd: '/' }).trim()).toBe(version)
})

test('the shell reads the scripts', () => {
  for (const path of listFiles('deploy').filter(path => path.endsWith('.sh')))
    expect(() => execFileSync('sh', ['-n', join(ROOT, path)], { stdio: 'pipe' }), path).not.toThrow()
})
