import type { StepCondition } from '../../domain/send/sequence.js'

/** The names of a step's conditions, for the API and for commands. */
const names: Readonly<Record<StepCondition, string>> = {
  always: 'sempre',
  failed: 'falhou',
  'not delivered': 'nao_entregue',
  'not read': 'nao_lido',
  'not confirmed': 'nao_confirmado',
}
const byName = new Map(Object.entries(names).map(([condition, name]) => [name, condition as StepCondition]))

export const conditionNames: readonly string[] = [...byName.keys()]
export const nameOfCondition = (condition: StepCondition): string => names[condition]
/** undefined: there is none of this name. */
export const findCondition = (name: string): StepCondition | undefined => byName.get(name)
