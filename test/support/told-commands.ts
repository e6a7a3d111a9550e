import type { Command } from 'commander'
import { buildProgram } from '../../src/cli/program.js'

/** Why the program does not take these arguments; null: it does. `whole`: options and values are read too. Nothing is run. */
export async function findCommandProblem(args: readonly string[], whole = true): Promise<string | null> {
  const program = await buildProgram(args)
  silence(program)
  if (find(program, args) === null) return 'no such command'
  if (!whole) return null
  return program.parseAsync(args, { from: 'user' }).then(
    () => null,
    (error: Error) => error.message,
  )
}

/** The commands are parsed and do nothing. */
function silence(command: Command): void {
  command.configureOutput({ writeErr: () => {}, writeOut: () => {} })
  if (command.commands.length === 0) command.action(() => {})
  for (const verb of command.commands) silence(verb as Command)
}

function find(program: Command, [first, second]: readonly string[]): Command | null {
  if (first!.startsWith('-')) return program
  const command = program.commands.find(verb => verb.name() === first)
  if (command === undefined) return null
  if (command.commands.length === 0 || second === undefined || second.startsWith('-')) return command
  return command.commands.find(verb => verb.name() === second.split('|')[0]) ?? null
}
