import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Browsers, independent programs, whole gateways with their carriers, kills: what takes minutes. */
const slow = ['dist/test/{browser,end-to-end,faults,peers}/**/*.test.js', 'dist/test/**/*.long.test.js']
const quick = {
  include: ['dist/test/**/*.test.js'],
  exclude: slow,
  provide: { generatedRequests: 200 },
  // More than the cores of a small machine: many tests wait for a simulated person or a real program.
  maxWorkers: 5,
}
/** What takes minutes is often a short file, and short files come last: it would be waited for alone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const takesMinutes = ({ moduleId }: TestSpecification): boolean => /generated|\.long\.test/.test(moduleId)
    const sorted = await super.sort(files)
    return [...sorted.filter(takesMinutes), ...sorted.filter(file => !takesMinutes(file))]
  }
}
const long = {
  include: [...slow, 'dist/test/contract/*generated.test.js'],
  provide: { generatedRequests: 10_000 },
  sequence: { sequencer: LongestFirst },
  maxWorkers: 3,
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
    expect: { poll: { timeout: 120_000, interval: 20 } },
    reporters: ['default', './dist/test/support/summary-reporter.js'],
  },
}))
