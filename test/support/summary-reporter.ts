import { writeFileSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule } from 'vitest/node'

/** One plain closing line, so that a skipped suite can never pass for a tested one, and the failed files where `FAILED_FILES` says. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state !== 'pending') counts[state]++
      }
    }
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`)
    // An error that no test caught names the file that was running.
    const during = errors.map(error => error.VITEST_TEST_PATH)
    const failed = modules.filter(module => module.state() === 'failed' || during.includes(module.moduleId))
    if (process.env.FAILED_FILES)
      writeFileSync(process.env.FAILED_FILES, failed.map(module => `${module.relativeModuleId}\n`).join(''))
  }
}
