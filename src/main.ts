import { runProgram } from './cli/program.js'

// A reader that goes away (carteiro queue list | head) is no error; a full disk is one. The command still closes what it has opened.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return
    if (stream === process.stdout && process.exitCode !== 1)
      process.stderr.write(`A saída não pôde ser escrita (${code}). Confira o espaço onde ela é gravada e repita o comando.\n`)
    process.exitCode = 1
  })
}

const code = await runProgram(process.argv.slice(2))
if (code !== 0) {
  process.exitCode = code
  // A timer or a connection that is still open must not keep a failed command alive.
  setTimeout(() => process.exit(), 5_000).unref()
}
