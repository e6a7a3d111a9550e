import { type Static, Type } from 'typebox'
import { count, list, moment, one, orNull, text } from '../wire.js'

const role = one(['operator', 'sender', 'auditor'])

export const operatorsSchema = Type.Object({
  rows: list(
    Type.Object({
      id: text,
      email: text,
      name: text,
      role,
      account: orNull(text),
      accountName: orNull(text),
      hasTotp: Type.Boolean(),
      sessions: count,
      seenAt: orNull(moment),
      disabledAt: orNull(moment),
      /** The person who asks. */
      isYou: Type.Boolean(),
    }),
  ),
  invitations: list(Type.Object({ email: text, role, accountName: orNull(text), expiresAt: moment })),
})
/** `account`: of a sender. */
const right = { role, account: orNull(Type.String({ maxLength: 36 })) }
export const inviteSchema = Type.Object({ email: Type.String({ maxLength: 254 }), ...right })
export const invitedSchema = Type.Object({ link: text })
export const changeRoleSchema = Type.Object(right)
export const invitationQuery = Type.Object({ email: Type.String({ maxLength: 254 }) })

export const auditQuery = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 20 })),
  actor: Type.Optional(Type.String({ maxLength: 300 })),
})
export const auditSchema = Type.Object({
  rows: list(
    Type.Object({ id: count, at: moment, actor: text, action: text, subject: text, detail: Type.Unknown(), hash: text }),
  ),
  cursor: orNull(text),
})
/** `after`: the `next` of the part before; absent: from the first row on. */
export const chainQuery = Type.Object({ after: Type.Optional(Type.String({ maxLength: 80 })) })
export const chainSchema = Type.Object({
  /** Up to which row, the parts before included. */
  checked: count,
  /** The id and hash of the last action; null: there is none. They can be noted elsewhere and compared later. */
  head: orNull(Type.Object({ id: count, hash: text })),
  fault: orNull(Type.Object({ id: count, fault: one(['sequence', 'link', 'hash']) })),
  /** Where the next part begins; null: this was the last. */
  next: orNull(text),
})

export type Operators = Static<typeof operatorsSchema>
export type Invite = Static<typeof inviteSchema>
export type Invited = Static<typeof invitedSchema>
export type ChangeRole = Static<typeof changeRoleSchema>
export type AuditQuery = Static<typeof auditQuery>
export type AuditPage = Static<typeof auditSchema>
export type ChainQuery = Static<typeof chainQuery>
export type AuditChain = Static<typeof chainSchema>
