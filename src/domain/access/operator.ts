/** operator: everything; sender: one account; auditor: reads and verifies. */
export const operatorRoles = ['operator', 'sender', 'auditor'] as const
export type OperatorRole = (typeof operatorRoles)[number]

/** What a person who signs in to the console may see and do. */
export interface Operator {
  id: string
  email: string
  name: string
  role: OperatorRole
  /** The account of a sender; null: all accounts. */
  account: string | null
}
