import type { Argument, Command, Option } from 'commander'

/** The parser's own words. `test/cli/portuguese.test.ts` reads the installed parser and fails where one is missing here. */
const titles: Readonly<Record<string, string>> = {
  'Usage:': 'Uso:',
  'Arguments:': 'Argumentos:',
  'Options:': 'Opções:',
  'Global Options:': 'Opções gerais:',
  'Commands:': 'Comandos:',
}

const sentences: readonly [RegExp, string][] = [
  [/^error: missing required argument '(.*)'$/m, "erro: falta o argumento '$1'."],
  [/^error: option '(.*)' argument missing$/m, "erro: falta o valor da opção '$1'."],
  [/^error: required option '(.*)' not specified$/m, "erro: falta a opção '$1'."],
  [/^error: (?:option|environment variable) '(.*)' cannot be used with .*'(.*)'$/m, "erro: '$1' não combina com '$2'."],
  [/^error: unknown option '(.*)'$/m, "erro: opção desconhecida '$1'. Veja as opções com --help."],
  [/^error: unknown command '(.*)'$/m, "erro: comando desconhecido '$1'. Veja os comandos com --help."],
  [
    /^error: too many arguments(?: for '(?:.*)')?\. Expected (\d+) arguments? but got (\d+)\.$/m,
    'erro: argumentos demais: eram $1, vieram $2.',
  ],
  [/^error: option '(.*)' argument '([\s\S]*)' is invalid\.\s?/, "erro: o valor '$2' de '$1' não serve. "],
  [/^error: option '(.*)' value '([\s\S]*)' from env '(.*)' is invalid\.\s?/, "erro: o valor '$2' de $3 ('$1') não serve. "],
  [/^error: command-argument value '([\s\S]*)' is invalid for argument '(.*)'\.\s?/, "erro: o valor '$1' de '$2' não serve. "],
  [/Allowed choices are (.*)\.$/m, 'Use um destes: $1.'],
  [/^\(Did you mean one of (.*)\?\)$/m, '(Seria um destes: $1?)'],
  [/^\(Did you mean (.*)\?\)$/m, '(Seria $1?)'],
]

export const translateError = (text: string): string =>
  sentences.reduce((rest, [english, portuguese]) => rest.replace(english, portuguese), text)

/** Everything that the parser itself says about a command and the commands below it. */
export function speakPortuguese(command: Command): void {
  command
    .helpOption('-h, --help', 'mostra esta ajuda')
    .configureHelp({
      styleTitle: title => titles[title] ?? title,
      styleUsage: translateUsage,
      styleSubcommandTerm: translateUsage,
      optionDescription: describe,
      argumentDescription: describe,
    })
    .configureOutput({ outputError: (text, write) => write(translateError(text)) })
  if (command.commands.length > 0) command.helpCommand('help [comando]', 'mostra a ajuda de um comando')
  for (const verb of command.commands) speakPortuguese(verb as Command)
}

const translateUsage = (text: string): string => text.replace('[options]', '[opções]').replace('[command]', '[comando]')

function describe({ description, argChoices, defaultValue, defaultValueDescription }: Option | Argument): string {
  const notes: string[] = []
  if (argChoices !== undefined) notes.push(`valores: ${argChoices.join(', ')}`)
  if (defaultValue !== undefined) notes.push(`padrão: ${defaultValueDescription ?? defaultValue}`)
  return notes.length === 0 ? description : `${description} (${notes.join('; ')})`
}
