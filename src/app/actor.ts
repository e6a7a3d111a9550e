import { userInfo } from 'node:os'

/** Who runs this command, for the log of actions. */
export const actor = (): string => `command:${userInfo().username}`
