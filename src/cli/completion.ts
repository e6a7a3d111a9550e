import { Argument, Command } from 'commander'
import { print } from './output.js'

const shells = ['bash', 'zsh', 'fish'] as const

/** completion: what a shell completes, written from the commands themselves. */
export function completionCommand(listAll: () => Promise<Command>): Command {
  return new Command('completion')
    .description('escreve o que o terminal completa: carteiro completion bash > /etc/bash_completion.d/carteiro')
    .addArgument(new Argument('<terminal>', 'para qual terminal').choices(shells))
    .action(async (shell: (typeof shells)[number]) => print(writers[shell](wordsOf(await listAll()))))
}

interface Words {
  /** The commands that lead here, such as "queue retry". */
  path: string
  names: readonly { name: string; about: string }[]
  options: readonly { name: string; about: string; values: readonly string[] | null }[]
}

function wordsOf(command: Command, path: readonly string[] = []): Words[] {
  const help = command.createHelp()
  const verbs = help.visibleCommands(command).filter(verb => verb.name() !== 'help')
  const own: Words = {
    path: path.join(' '),
    names: verbs.map(verb => ({ name: verb.name(), about: verb.description() })),
    options: help
      .visibleOptions(command)
      .filter(({ long }) => long !== undefined && long !== null)
      .map(({ long, description, argChoices, required, optional }) => ({
        name: long!,
        about: description,
        values: argChoices ?? (required || optional ? [] : null),
      })),
  }
  return [own, ...verbs.flatMap(verb => wordsOf(verb, [...path, verb.name()]))]
}

const list = (words: readonly { name: string }[]): string => words.map(({ name }) => name).join(' ')

/** Options with a fixed list of values. */
const withValues = (all: readonly Words[]) =>
  all.flatMap(({ path, options }) =>
    options.flatMap(({ name, values }) => (values === null || values.length === 0 ? [] : [{ path, name, values }])),
  )

/** The words before the cursor that are commands say where we are. */
function writeBash(all: readonly Words[]): string {
  const places = all.map(({ path, names, options }) => `    "${path}") words="${list(names)} ${list(options)}" ;;`)
  const values = withValues(all).map(({ path, name, values }) => `    "${path} ${name}") words="${values.join(' ')}" ;;`)
  return `_carteiro() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case " ${all.map(({ path }) => path.replaceAll(' ', '_')).join(' ')} " in
      *" \${path:+\${path// /_}_}$word "*) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${places.join('\n')}
  esac
  case "$path $previous" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -z "$words" ] || [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _carteiro carteiro`
}

/** zsh reads completions of bash. */
const writeZsh = (all: readonly Words[]): string =>
  `#compdef carteiro\nautoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n${writeBash(all)}`

function writeFish(all: readonly Words[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = all.flatMap(({ path, names, options }) => {
    const steps = path === '' ? [] : path.split(' ')
    const inside = steps.map(step => `__fish_seen_subcommand_from ${step}`)
    const below = names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${list(names)}`]
    const here = [...inside, ...below].join('; and ')
    const when = here === '' ? '' : ` -n ${quote(here)}`
    return [
      ...names.map(({ name, about }) => `complete -c carteiro -f${when} -a ${name} -d ${quote(about)}`),
      ...options.map(({ name, about, values }) => {
        const taken = values === null ? '' : values.length === 0 ? ' -r' : ` -x -a ${quote(values.join(' '))}`
        return `complete -c carteiro${when} -l ${name.slice(2)}${taken} -d ${quote(about)}`
      }),
    ]
  })
  return lines.join('\n')
}

const writers = { bash: writeBash, zsh: writeZsh, fish: writeFish }
