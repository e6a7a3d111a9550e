import { Liquid, type Template as ParsedTemplate, type StaticAnalysis } from 'liquidjs'
import { Refusal } from '../errors.js'
import type { JsonObject } from '../notification.js'
import { LINK_PLACEHOLDER } from '../recipient/link.js'
import { isBlank } from '../text/text.js'
import { findIgnoredWords, type IgnoredWords } from './ignored-words.js'

export interface TemplateVariable {
  name: string
  required: boolean
}

export const MAX_TEMPLATE_CHARACTERS = 200_000
export const MAX_TEMPLATE_VARIABLES = 500
/** Outputs and tags. The engine's analysis looks for the place of each in the whole content: 20,000 took 27 s. */
export const MAX_TEMPLATE_ELEMENTS = 2_000
/** Repeating text costs the engine no time, but everything that is done with the message afterwards does. */
const MAX_RENDERED_CHARACTERS = 2_000_000
// The engine counts UTF-16 units, of which a character may be two.
const limits = { parseLimit: 2 * MAX_TEMPLATE_CHARACTERS, renderLimit: 200, memoryLimit: 2_000_000 }
const strict = { ownPropertyOnly: true, strictVariables: true, strictFilters: true }
// `templates` replaces the file system: a template that includes another one finds nothing.
const plainEngine = new Liquid({ ...limits, ...strict, templates: {} })
const htmlEngine = new Liquid({ ...limits, ...strict, templates: {}, outputEscape: 'escape' })

const NAME = String.raw`\s*[\p{L}\p{N}_][\p{L}\p{N}_. -]{0,80}?\s*`
/**
 * Variables in other notations than Liquid's. What Liquid itself reads comes first, so that it is skipped. Only for a content that was
 * parsed: in one without a closing tag each opening one would be searched to the end.
 */
const FOREIGN_VARIABLE = new RegExp(
  [
    String.raw`\{%-?\s*(raw|comment)\b[^%]*%\}[\s\S]*?\{%-?\s*end\1\s*-?%\}|\{%[\s\S]*?%\}`,
    String.raw`(?<number>\{\{-?\s*\d+\s*-?\}\})|\{\{[\s\S]*?\}\}`,
    String.raw`(?<braced>\$?\{${NAME}\})|(?<bracketed>\[\[${NAME}\]\])`,
  ].join('|'),
  'gu',
)

export type TemplateFault =
  | { fault: 'placeholder'; found: string; right: string }
  | { fault: 'number'; found: string }
  | ({ fault: 'ignored' } & IgnoredWords)
  | { fault: 'syntax'; line: number | null }
  | { fault: 'undeclared' | 'missing'; variable: string }
  | { fault: 'member'; found: string; right: string }
  | { fault: 'limits' }
  | { fault: 'variables' }
  | { fault: 'elements' }

/** Checks a content against its declared variables; without a declaration every used variable is obligatory. */
export function checkTemplate(content: string, declared: readonly TemplateVariable[] | null): TemplateVariable[] | TemplateFault {
  if (countElements(content) > MAX_TEMPLATE_ELEMENTS) return { fault: 'elements' }
  try {
    const parsed = plainEngine.parse(content)
    const foreign = findForeignVariable(content)
    if (foreign !== null) return foreign
    const ignored = findIgnoredWords(content, plainEngine.options)
    if (ignored !== null) return { fault: 'ignored', ...ignored }
    const { globals } = plainEngine.analyzeSync(parsed)
    const member = findMember(globals)
    if (member !== null) return member
    const used = Object.keys(globals)
    if (Math.max(used.length, declared?.length ?? 0) > MAX_TEMPLATE_VARIABLES) return { fault: 'variables' }
    if (declared === null) return used.map(name => ({ name, required: true }))
    const names = new Set(declared.map(({ name }) => name))
    const undeclared = used.find(name => !names.has(name))
    return undeclared === undefined ? [...declared] : { fault: 'undeclared', variable: undeclared }
  } catch (error) {
    return toFault(error)
  }
}

function countElements(content: string): number {
  let count = 0
  for (let at = content.indexOf('{'); at !== -1; at = content.indexOf('{', at + 1))
    if (content[at + 1] === '{' || content[at + 1] === '%') count++
  return count
}

/** A variable in another notation is no Liquid: it would be sent as it stands, a hole in the message. */
function findForeignVariable(content: string): TemplateFault | null {
  for (const { groups } of content.matchAll(FOREIGN_VARIABLE)) {
    if (groups!.number !== undefined) return { fault: 'number', found: groups!.number }
    const found = groups!.braced ?? groups!.bracketed
    if (found === undefined || found === LINK_PLACEHOLDER) continue
    const name = found.replace(/^[${[\s]+|[}\]\s]+$/g, '').replace(/[ .-]+/g, '_')
    const right = `{${name.toUpperCase()}}` === LINK_PLACEHOLDER ? LINK_PLACEHOLDER : `{{ ${name} }}`
    return { fault: 'placeholder', found, right: /^\d/.test(name) ? '{{ nome }}' : right }
  }
  return null
}

/** The value of a variable is one text, number or boolean: a member of it could never be filled in. A text has a size and characters. */
function findMember(globals: StaticAnalysis['globals']): TemplateFault | null {
  for (const variable of Object.values(globals).flat()) {
    const member = variable.segments[1]
    if (typeof member !== 'string' || (member === 'size' && variable.segments.length === 2)) continue
    const found = String(variable)
    return { fault: 'member', found, right: `{{ ${found.replace(/[^\p{L}\p{N}_]+/gu, '_').replace(/_$/, '')} }}` }
  }
  return null
}

/**
 * Renders Liquid strictly. A missing obligatory variable is an error, never a hole; nothing but the variables' own members can be
 * reached; parsing and rendering are bounded in time, memory and size. `html`: the result is markup, so that the values of variables are
 * escaped.
 */
export function renderTemplate(
  html: boolean,
  content: string,
  variables: readonly TemplateVariable[],
  values: JsonObject,
): { text: string } | TemplateFault {
  const scope: Record<string, unknown> = {}
  for (const { name, required } of variables) {
    const value = Object.hasOwn(values, name) ? values[name] : null
    const empty = value === null || value === undefined || (typeof value === 'string' && isBlank(value))
    if (empty && required) return { fault: 'missing', variable: name }
    scope[name] = empty ? '' : value
  }
  try {
    const liquid = html ? htmlEngine : plainEngine
    const text = render(liquid, liquid.parse(content), scope)
    return text.length > MAX_RENDERED_CHARACTERS ? { fault: 'limits' } : { text }
  } catch (error) {
    return toFault(error)
  }
}

/** A variable between braces, perhaps with filters whose work grows with the length of its text alone. */
const PLAIN_OUTPUT = /\{\{-?\s*[\p{L}_][\p{L}\p{N}_]*(?:\s*\|\s*(?:upcase|downcase|capitalize|strip|escape))*\s*-?\}\}/gu
const MAX_PLAIN_CHARACTERS = 20_000
const MAX_PLAIN_OUTPUTS = 100

/**
 * Whether a content is so plain that checking it and filling it in take a millisecond at most: a short text with a few variables that
 * have short values. Anything else may take any time, however innocent it looks.
 */
export function isPlainTemplate(content: string, values: JsonObject = {}): boolean {
  if (content.length > MAX_PLAIN_CHARACTERS) return false
  let outputs = 0
  const rest = content.replace(PLAIN_OUTPUT, () => {
    outputs++
    return ''
  })
  if (outputs > MAX_PLAIN_OUTPUTS || rest.includes('{{') || rest.includes('{%')) return false
  let longest = 0
  for (const name in values) {
    const value = values[name]
    if (typeof value === 'object' && value !== null) return false
    if (typeof value === 'string' && value.length > longest) longest = value.length
  }
  return longest * outputs <= MAX_PLAIN_CHARACTERS
}

/** The render limit counts wall-clock time, also while a busy machine suspends the process: a slow rendering is tried twice. */
function render(liquid: Liquid, parsed: ParsedTemplate[], scope: object): string {
  try {
    return liquid.renderSync(parsed, scope) as string
  } catch (error) {
    if (!(error as Error).message.startsWith('template render limit')) throw error
    return liquid.renderSync(parsed, scope) as string
  }
}

function toFault(error: unknown): TemplateFault {
  const { name, message, token } = error as Error & { token?: { getPosition?(): [number, number] } }
  if (name === 'UndefinedVariableError')
    return { fault: 'missing', variable: /undefined variable: ([^,\s]+)/.exec(message)?.[1] ?? '' }
  // The engine's own limits, and V8's for a text and for the stack.
  if (/^(\w+ \w+ limit exceeded|Invalid string length|Maximum call stack)/.test(message)) return { fault: 'limits' }
  return { fault: 'syntax', line: token?.getPosition?.()[0] ?? null }
}

/** `values`: the member of the request that has the variables' values. */
export function templateRefusal(fault: TemplateFault, values: string): Refusal {
  if (fault.fault === 'placeholder') return new Refusal('templatePlaceholder', [fault.found, fault.right])
  if (fault.fault === 'number') return new Refusal('templateNumber', [fault.found])
  if (fault.fault === 'member') return new Refusal('templateMember', [fault.found, fault.right])
  if (fault.fault === 'ignored') return new Refusal('templateIgnored', [fault.found, fault.cure])
  if (fault.fault === 'limits') return new Refusal('templateLimits')
  if (fault.fault === 'elements') return new Refusal('tooManyElements', [String(MAX_TEMPLATE_ELEMENTS)])
  if (fault.fault === 'variables') return new Refusal('tooManyVariables', [String(MAX_TEMPLATE_VARIABLES)])
  if (fault.fault === 'syntax') return new Refusal('templateSyntax', [fault.line === null ? '' : ` na linha ${fault.line}`])
  if (fault.fault === 'undeclared') return new Refusal('templateUndeclared', [fault.variable])
  return new Refusal('templateVariable', [fault.variable, `${values}.${fault.variable}`])
}
