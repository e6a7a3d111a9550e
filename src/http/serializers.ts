import fastJson from 'fast-json-stringify'

const written = new WeakMap<object, (answer: unknown) => string>()

/** Writing a serializer takes milliseconds, and a process answers few of its routes: each is written with its first answer. */
export function serializerOf(schema: object): (answer: unknown) => string {
  return answer => {
    const known = written.get(schema)
    if (known !== undefined) return known(answer)
    const serialize = fastJson(schema)
    written.set(schema, serialize)
    return serialize(answer)
  }
}
