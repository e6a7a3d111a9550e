import { userInfo } from 'node:os'

/** The user of the system who runs this process. In a container it may be a number without a name, for which Node.js throws. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid:${process.getuid?.()}`
  }
}

/** Who runs this command, for the log of actions. */
export const actor = (): string => `command:${userName()}`
