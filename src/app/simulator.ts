import { createSimulator, type Simulator, type SimulatorOptions } from '../../simulator/simulator.js'
import { OperatorError } from '../domain/errors.js'

/** The carriers' side, on sockets of its own. */
export async function openSimulator(options: SimulatorOptions): Promise<Simulator> {
  try {
    return await createSimulator(options)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new OperatorError('A porta pedida para o simulador está em uso por outro programa. Escolha outra.', { cause: error })
  }
}
