import type { CarrierReport } from '../provider.js'

const RETURN_REASONS: Readonly<Record<number, string>> = {
  3: 'Não procurado',
  4: 'Recusado',
  5: 'Falecido',
  6: 'Desconhecido',
  7: 'Endereço insuficiente',
  8: 'Número inexistente',
  10: 'Mudou-se',
  21: 'Ausente',
}

/** The Correios' codes for the end of a delivery, used in the return files of e-Carta and in tracking. null: another code. */
export function outcomeOf(code: number): (Pick<CarrierReport, 'failure' | 'reason'> & { type: 'delivered' | 'failed' }) | null {
  if (code === 1) return { type: 'delivered' }
  if ([9, 12, 80].includes(code)) return { type: 'failed', failure: 'undelivered', reason: 'Extraviada' }
  const reason = RETURN_REASONS[code]
  return reason === undefined ? null : { type: 'failed', failure: 'returned', reason }
}
