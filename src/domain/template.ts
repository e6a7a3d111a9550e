import { Liquid, type Template as ParsedTemplate } from 'liquidjs'
import { Refusal } from './errors.js'
import type { JsonObject } from './notification.js'

/**
 * Message templates: Liquid, rendered strictly. A missing obligatory variable is an error, never a hole; nothing but the
 * variables' own members can be reached; parsing and rendering are bounded in time, memory and size.
 */
export interface TemplateVariable {
  name: string
  required: boolean
}

export const MAX_TEMPLATE_CHARACTERS = 200_000
/** The longest message that a template may become: repeating text costs no time, only what is done with it afterwards. */
const MAX_RENDERED_CHARACTERS = 2_000_000
// The engine counts UTF-16 units, of which a character may be two.
const LIMITS = { parseLimit: 2 * MAX_TEMPLATE_CHARACTERS, renderLimit: 200, memoryLimit: 2_000_000 }

const engine = (html: boolean): Liquid =>
  new Liquid({
    ...LIMITS,
    ownPropertyOnly: true,
    strictVariables: true,
    strictFilters: true,
    // No files: a template that includes another one finds nothing.
    templates: {},
    ...(html ? { outputEscape: 'escape' as const } : {}),
  })

const plainEngine = engine(false)
const htmlEngine = engine(true)

export type TemplateFault =
  | { fault: 'syntax'; line: number | null }
  | { fault: 'undeclared'; variable: string }
  | { fault: 'missing'; variable: string }
  | { fault: 'limits' }

/** The variables that a content uses, in order of appearance, or why it cannot be read. */
function variablesOf(content: string): { names: string[] } | TemplateFault {
  try {
    const parsed = plainEngine.parse(content)
    return { names: [...new Set(plainEngine.globalVariablesSync(parsed))] }
  } catch (error) {
    return toFault(error)
  }
}

/** Checks a content against its declared variables; without a declaration every used variable is obligatory. */
export function checkTemplate(content: string, declared: readonly TemplateVariable[] | null): TemplateVariable[] | TemplateFault {
  const used = variablesOf(content)
  if ('fault' in used) return used
  if (declared === null) return used.names.map(name => ({ name, required: true }))
  const undeclared = used.names.find(name => !declared.some(variable => variable.name === name))
  return undeclared === undefined ? [...declared] : { fault: 'undeclared', variable: undeclared }
}

/** `html`: the result is markup, so that the values of variables are escaped. */
export function renderTemplate(
  html: boolean,
  content: string,
  variables: readonly TemplateVariable[],
  values: JsonObject,
): { text: string } | TemplateFault {
  const scope: Record<string, unknown> = {}
  for (const { name, required } of variables) {
    const value = Object.hasOwn(values, name) ? values[name] : null
    const empty = value === null || value === undefined || (typeof value === 'string' && value.trim() === '')
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

/** The limit's clock goes on while a busy machine lets the process stand still: too slow is only what is so twice. */
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
  if (name === 'UndefinedVariableError') {
    return { fault: 'missing', variable: /undefined variable: ([^,\s]+)/.exec(message)?.[1] ?? '' }
  }
  // The engine's own limits, and V8's for a text and for the stack.
  if (/^(\w+ \w+ limit exceeded|Invalid string length|Maximum call stack)/.test(message)) return { fault: 'limits' }
  return { fault: 'syntax', line: token?.getPosition?.()[0] ?? null }
}

/** A template's fault as a refusal that names the cure. */
export function templateRefusal(fault: TemplateFault): Refusal {
  switch (fault.fault) {
    case 'syntax':
      return new Refusal('templateSyntax', [fault.line === null ? '' : ` na linha ${fault.line}`])
    case 'undeclared':
      return new Refusal('templateUndeclared', [fault.variable])
    case 'missing':
      return new Refusal('templateVariable', [fault.variable])
    case 'limits':
      return new Refusal('templateLimits')
  }
}
