/**
 * The members of each status record, as section 2.5 of the specification lists them: those that are always there, and those whose
 * key is absent until it happens. Beyond section 2.5 come the members that existing clients read, and the reason of a failure.
 */
export const recordMembers: Readonly<Record<string, { always: readonly string[]; later: readonly string[] }>> = {
  email: {
    always: [
      'dateSend',
      'dateDelivery',
      'dateReading',
      'dateAcceptance',
      'error',
      'description',
      'failureReason',
      'failureReasonDescription',
      'customID',
      'idEmail',
    ],
    later: [],
  },
  whatsapp: {
    always: ['description', 'error', 'failureReason', 'customID', 'idEmail'],
    later: ['dateSent', 'dateDelivery', 'dateResponse', 'dateAccessLink'],
  },
  carta: {
    always: ['description', 'error'],
    later: [
      'dateProcessing',
      'datePreparation',
      'dateSent',
      'dateDelivery',
      'sro',
      'linkSvcCartaComprovante',
      'linkArCartaComprovante',
      'linkRastreio',
      'failureReason',
    ],
  },
  sms: { always: ['dateSend', 'dateReading', 'description', 'dateAnswered', 'answered'], later: ['failureReason'] },
  voz: {
    always: ['description'],
    later: ['dateSent', 'dateSuccessCall', 'dateFailureCall', 'linkCall', 'failureReason'],
  },
}

/** The record with an undefined member for each of these that is absent, so that `toMatchObject` can expect the absence. */
export const showAbsent = (record: object, members: object): object => ({
  ...Object.fromEntries(Object.keys(members).map(name => [name, undefined])),
  ...record,
})
