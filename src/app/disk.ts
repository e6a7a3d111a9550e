import { createDiskGuard } from '../engine/accept/disk-guard.js'
import { readFreeBytes } from '../runtime/disk.js'
import type { Config } from './config.js'
import type { Log } from './log.js'

/** The guard of the disk on which the data folder is, with a line in the log when it begins to refuse and when it ends. */
export const openDiskGuard = (
  { dataFolder, minFreeBytes }: Config,
  log: Log,
  readFree = () => readFreeBytes(dataFolder),
): (() => Promise<void>) =>
  createDiskGuard({
    minFreeBytes,
    readFree,
    onChange: (isLow, freeBytes) => {
      if (isLow) log.error({ freeBytes, minFreeBytes }, 'the disk is nearly full: nothing is accepted until there is more space')
      else log.warn({ freeBytes, minFreeBytes }, 'the disk has space again: sends are accepted')
    },
  })
