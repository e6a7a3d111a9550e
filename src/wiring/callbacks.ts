import type { Callback } from '../channels/provider.js'

/** The readers of carriers' callbacks, real and simulated: one line per provider that is told of things over HTTP. */
export function wireCallbacks(): { real: Callback[]; simulated: Callback[] } {
  return { real: [], simulated: [] }
}
