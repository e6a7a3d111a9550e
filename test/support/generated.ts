import fc from 'fast-check'
import { inject } from 'vitest'

/** fast-check with the seed of the run; a failure prints the seed and the path to the counterexample. */
fc.configureGlobal({ seed: inject('seed') })

export default fc
