import { defineConfig } from 'vitest/config'

// Tests run compiled, so that threads and child processes are the same files that ship.
export default defineConfig({
  test: {
    include: ['dist/test/**/*.test.js'],
    globalSetup: ['dist/test/support/global-setup.js'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: ['default', './dist/test/support/summary-reporter.js'],
  },
})
