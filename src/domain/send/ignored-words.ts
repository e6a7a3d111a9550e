import { type FilteredValueToken, type Liquid, Tokenizer, type TopLevelToken, TypeGuards } from 'liquidjs'
import { cutText } from '../text/text.js'

/** A tag with words that the engine ignores, and the words that say how to write it. */
export interface IgnoredWords {
  found: string
  cure: string
}

const MAX_FOUND_CHARACTERS = 80
const ONE_VALUE = 'Deixe um só valor em cada etiqueta, com os filtros depois de |'
/** Words between braces, as people write a name with blanks. */
const WORDS = /^\{\{-?\s*[\p{L}_][\p{L}\p{N}_]*(?:\s+[\p{L}\p{N}_]+)+\s*-?\}\}$/u
const MODIFIERS: Readonly<Record<string, readonly string[]>> = {
  for: ['reversed', 'limit', 'offset'],
  tablerow: ['cols', 'limit', 'offset'],
}
/** Each reads the words of a tag as the engine does, says whether they are complete, and stops at the first that the engine ignores. */
const readers: Readonly<Record<string, (words: Tokenizer, tag: string) => boolean>> = {
  if: readValue,
  elsif: readValue,
  unless: readValue,
  case: readValue,
  /** Also for an output, which is never empty. */
  echo: words => words.end() || readValue(words),
  assign(words) {
    words.readIdentifier()
    words.readTo('=')
    return readValue(words)
  },
  for: readLoop,
  tablerow: readLoop,
  when(words) {
    while (!words.end()) {
      words.readValueOrThrow()
      words.skipBlank()
      if (!words.end() && !skip(words, /^(?:,|or\b)/)) return false
    }
    return true
  },
  cycle(words) {
    const begin = words.p
    words.readValue()
    if (!skip(words, /^\s*:/)) words.p = begin
    while (!words.end()) {
      if (!readValue(words)) return false
      words.skipBlank()
      if (!words.end() && !skip(words, /^,/)) return false
    }
    return true
  },
  capture: words => words.readIdentifier().size() > 0 || words.readQuoted() !== undefined,
  increment: words => words.readIdentifier().size() > 0,
  decrement: words => words.readIdentifier().size() > 0,
}
const BARE = new Set(['else', 'break', 'continue', 'endtablerow', 'endunless', 'endcase', 'endcapture'])

/**
 * Finds the first tag of a content that parses in which the engine reads a beginning and ignores the rest: the words would be missing from
 * the message without a sign.
 */
export function findIgnoredWords(content: string, options: Liquid['options']): IgnoredWords | null {
  return findIn(new Tokenizer(content, options.operators).readTopLevelTokens(options), options)
}

function findIn(tokens: readonly TopLevelToken[], options: Liquid['options']): IgnoredWords | null {
  let isComment = false
  for (const token of tokens) {
    let found: IgnoredWords | null = null
    if (TypeGuards.isTagToken(token)) {
      const { name, tokenizer } = token
      if (name === 'comment' || name === 'endcomment') isComment = name === 'comment'
      else if (!isComment && name === 'liquid') found = findIn(tokenizer.readLiquidTagTokens(options), options)
      else if (!isComment) found = examine(name, tokenizer, token.getText().trim())
    } else if (!isComment && TypeGuards.isOutputToken(token)) {
      const words = new Tokenizer(token.input, options.operators, undefined, token.contentRange)
      found = examine('echo', words, token.getText())
    }
    if (found !== null) return found
  }
  return null
}

function examine(name: string, words: Tokenizer, text: string): IgnoredWords | null {
  const read = readers[name]
  if (read === undefined && !BARE.has(name)) return null
  const isComplete = read?.(words, name) ?? true
  words.skipBlank()
  if (isComplete && words.end()) return null
  const found = text.length > MAX_FOUND_CHARACTERS ? `${cutText(text, MAX_FOUND_CHARACTERS)}…` : text
  return { found, cure: cureOf(name, text) }
}

function cureOf(name: string, text: string): string {
  if (WORDS.test(text)) return `Escreva ${joinWords(text)}: o nome de uma variável não tem espaços`
  if (name === 'else') return 'Para outra condição, escreva elsif no lugar de else'
  const modifiers = MODIFIERS[name]
  return modifiers === undefined
    ? ONE_VALUE
    : `Depois da lista vão só ${modifiers.join(', ')}; um filtro vai antes, numa etiqueta assign`
}

const joinWords = (text: string): string => `{{ ${text.replace(/^\{\{-?\s*|\s*-?\}\}$/g, '').replace(/\s+/g, '_')} }}`

function readLoop(words: Tokenizer, tag: string): boolean {
  words.readIdentifier()
  words.readIdentifier()
  words.readValue()
  return words.readHashes(':').every(({ name }) => MODIFIERS[tag]!.includes(name.content))
}

function readValue(words: Tokenizer): boolean {
  return isOneValue(words.readFilteredValue())
}

/** Operators make one value of their operands. Of several values the engine takes the first, and for a missing operand nothing. */
function isOneValue({ initial }: FilteredValueToken): boolean {
  let values = 0
  for (const token of initial.postfix) {
    const operands = TypeGuards.isOperatorToken(token) ? (token.operator === 'not' ? 1 : 2) : 0
    if (values < operands) return false
    values += 1 - operands
  }
  return values === 1
}

function skip(words: Tokenizer, pattern: RegExp): boolean {
  const match = pattern.exec(words.remaining())
  words.advance(match?.[0].length ?? 0)
  return match !== null
}
