/**
 * The time zones of Brazilian area codes. An area code with places in two zones has both, and a contact must suit both: 97 is the
 * interior of Amazonas, because its west keeps the time of Acre. Area codes that are not here keep the time of Brasília.
 */
const zonesOf: Readonly<Record<string, readonly string[]>> = {
  65: ['America/Cuiaba'],
  66: ['America/Cuiaba'],
  67: ['America/Campo_Grande'],
  68: ['America/Rio_Branco'],
  69: ['America/Porto_Velho'],
  92: ['America/Manaus'],
  95: ['America/Boa_Vista'],
  97: ['America/Manaus', 'America/Eirunepe'],
}

const BRASILIA: readonly string[] = ['America/Sao_Paulo']

/** `recipient`: a number in E.164. Nothing tells the zone of other recipients, and of numbers abroad: they get Brasília's. */
export function zonesOfRecipient(recipient: string | null): readonly string[] {
  const [, area] = /^\+55(\d\d)\d{8,9}$/.exec(recipient ?? '') ?? []
  return (area === undefined ? undefined : zonesOf[area]) ?? BRASILIA
}

/** The zone in words: "hora de Manaus". */
export const labelZone = (zone: string): string => names[zone] ?? 'hora de Brasília'

const names: Readonly<Record<string, string>> = {
  'America/Cuiaba': 'hora de Cuiabá',
  'America/Campo_Grande': 'hora de Campo Grande',
  'America/Rio_Branco': 'hora do Acre',
  'America/Porto_Velho': 'hora de Porto Velho',
  'America/Manaus': 'hora de Manaus',
  'America/Boa_Vista': 'hora de Boa Vista',
  'America/Eirunepe': 'hora de Eirunepé',
}
