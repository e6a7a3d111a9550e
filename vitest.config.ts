import { defineConfig } from 'vitest/config'

/** Drills, kill rounds and large generated runs: minutes, where every other test takes seconds. */
const long = {
  include: ['dist/test/**/*.long.test.js', 'dist/test/contract/*generated.test.js'],
  provide: { generatedRequests: 10_000 },
}
const quick = {
  include: ['dist/test/**/*.test.js'],
  exclude: ['dist/test/**/*.long.test.js'],
  provide: { generatedRequests: 200 },
}

// Tests run compiled, so that threads and child processes are the same files that ship.
export default defineConfig(({ mode }) => ({
  test: {
    ...(mode === 'long' ? long : quick),
    isolate: false,
    server: { deps: { external: [/\/dist\/(?!test\/.*\.test\.js)/] } },
    globalSetup: ['dist/test/support/global-setup.js'],
    // Ends what hangs. How long a test takes says only how busy the machine is.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // One more than the cores of a small machine: many tests wait for a simulated person or a real program.
    maxWorkers: 3,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    reporters: ['default', './dist/test/support/summary-reporter.js'],
  },
}))
