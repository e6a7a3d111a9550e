import type { ChannelDelivery } from '../../channels/channel-runtime.js'
import type { Keys } from '../../domain/access/keys.js'
import type { Clock } from '../../domain/clock.js'
import { extendLog, finishLog } from '../../evidence/log.js'
import { openLogKey } from '../../evidence/log-key.js'
import { exportTarget } from '../../evidence/targets/export.js'
import { targetChore } from '../../evidence/targets/target.js'
import { timeStampTarget } from '../../evidence/targets/time-stamps.js'
import { witnessTarget } from '../../evidence/targets/witness.js'
import type { Chore } from '../../runtime/chores.js'
import type { Pool } from '../../store/postgres.js'
import { openOutbound } from '../../webhooks/outbound.js'
import type { Config } from '../config.js'
import type { Log } from '../log.js'
import { targetRules } from '../webhook-rules.js'

export interface EvidenceLogParts {
  config: Config
  keys: Keys
  pool: Pool
  clock: Clock
  log: Log
  sendMail: NonNullable<ChannelDelivery<unknown>['sendMail']> | null
}

/** With the wait between two checkpoints (evidence/log.ts), an event is in a checkpoint after less than 5 s. */
const APPEND_EVERY_MS = 1_000
const TIMEOUT_MS = 15_000

export interface EvidenceLog {
  chores: Chore[]
  /** Once the chores have ended. false: the log lacks some of the events. */
  finish(): Promise<boolean>
  close(): Promise<void>
}

/** The log of events and its checkpoints, composed for the worker. */
export async function openEvidenceLog(parts: EvidenceLogParts): Promise<EvidenceLog> {
  const { config, keys, pool, clock, log, sendMail } = parts
  const { exports, witnesses, authorities } = config.checkpoints
  const key = await openLogKey(pool, keys.sealing, config.publicUrl)
  const outbound = openOutbound({ ...targetRules(config), timeoutMs: TIMEOUT_MS })
  const targets = [
    ...exports.map(setting => exportTarget(setting, { request: outbound.request, sendMail, clock })),
    ...witnesses.map(setting => witnessTarget(setting, pool, outbound.request)),
    ...authorities.map(setting => timeStampTarget(setting, pool)),
  ]
  const onFailure = (target: string, err: Error): void =>
    log.warn({ target, err }, 'a checkpoint did not reach its target and will be sent again')
  return {
    chores: [
      { name: 'log of events', everyMs: APPEND_EVERY_MS, run: signal => extendLog({ pool, key }, signal) },
      ...targets.map(target => targetChore(target, { pool, onFailure })),
    ],
    finish: () => finishLog({ pool, key }),
    close: () => outbound.close(),
  }
}
