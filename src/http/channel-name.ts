import { channelModules, findModule } from '../channels/registry.js'
import type { Channel } from '../domain/channel.js'
import { refuse } from '../domain/errors.js'

/** The place of a value in a request, as its refusal names it: a member of the body is a field, a part of the address a parameter. */
export type Place = { field: string } | { parameter: string }

const channelNames = channelModules.map(({ wire }) => wire)

export const readChannel = (name: string, place: Place): Channel => findModule(name)?.channel ?? refuseValue(place, channelNames)

/** Refuses a value that is not one of those that are listed. */
export const refuseValue = (place: Place, values: readonly string[]): never =>
  'field' in place
    ? refuse('notOneOf', place.field, values.join(', '))
    : refuse('notOneOfParameter', place.parameter, values.join(', '))
