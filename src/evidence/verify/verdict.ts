import type { Step } from './fault.js'

/** The result of one check. partial: what could be checked holds. absent: the bundle has nothing of the kind. */
export type StepState = 'holds' | 'broken' | 'partial' | 'absent' | 'skipped'

export interface CheckedStep {
  step: Step
  /** What was checked, for people. */
  title: string
  state: StepState
  detail: string
}

/** What a verification found, in the words in which it is shown. */
export interface Verdict {
  /** Everything that could be checked holds. */
  holds: boolean
  notification: string | null
  steps: readonly CheckedStep[]
  /** The first thing that does not hold; null: there is none. */
  fault: { step: Step; subject: string | null; message: string } | null
  proven: readonly string[]
  unproven: readonly string[]
  /** The key of the log, by which the signatures were checked; null: it was not read. */
  key: string | null
}

export const titles: Readonly<Record<Step, string>> = {
  zip: 'Forma do arquivo',
  manifest: 'Lista de arquivos',
  signature: 'Assinatura do pacote',
  events: 'Cadeia de eventos',
  files: 'Conteúdo, anexos e gravações',
  inclusion: 'Eventos no registro',
  checkpoint: 'Assinatura do ponto de controle (checkpoint)',
  witnesses: 'Testemunhas',
  'time-stamps': 'Carimbos do tempo',
  documents: 'Documentos assinados',
}
