import { expect, test } from 'vitest'
import { dataFolder } from '../support/database/data-folder.js'
import { carteiro } from '../support/programs/carteiro-program.js'

test('a role that is told to use the simulator and not where it is does not start', () => {
  const { status, stderr } = carteiro(['start', '--role', 'worker'], { data: dataFolder(), env: { SIMULATOR: 'on' } })
  expect([status, stderr]).toEqual([1, expect.stringContaining('SIMULATOR=on com --role pede SIMULATOR_URL e SIMULATOR_KEY')])
})
