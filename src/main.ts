import { runProgram } from './cli/program.js'

// A reader that goes away (carteiro queue list | head) is no error, and the command still closes what it has opened.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
}

const code = await runProgram(process.argv.slice(2))
if (code !== 0) {
  process.exitCode = code
  // A timer or a connection that is still open must not keep a failed command alive.
  setTimeout(() => process.exit(), 5_000).unref()
}
