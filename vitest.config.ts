import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Those that wait most come first, so that the others run meanwhile. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const waits = ({ moduleId }: TestSpecification): boolean => moduleId.includes('/dist/test/faults/')
    const rest = await super.sort(files.filter(file => !waits(file)))
    return [...files.filter(waits), ...rest]
  }
}

// Tests run compiled, so that threads and child processes are the same files that ship.
export default defineConfig({
  test: {
    include: ['dist/test/**/*.test.js'],
    globalSetup: ['dist/test/support/global-setup.js'],
    // Ends what hangs. How long a test takes says only how busy the machine is.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', './dist/test/support/summary-reporter.js'],
  },
})
