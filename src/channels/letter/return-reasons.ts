/** The Correios' codes for a failed delivery, used in the return files of e-Carta and in tracking. */
export const RETURN_REASONS: Readonly<Record<number, string>> = {
  3: 'Não procurado',
  4: 'Recusado',
  5: 'Falecido',
  6: 'Desconhecido',
  7: 'Endereço insuficiente',
  8: 'Número inexistente',
  10: 'Mudou-se',
  21: 'Ausente',
}
export const DELIVERED_CODE = 1
export const LOST_CODES: readonly number[] = [9, 12, 80]
