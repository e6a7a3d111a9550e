import { createHash, randomBytes } from 'node:crypto'
import { addressGroup } from '../../domain/access/address-range.js'
import type { Keys } from '../../domain/access/keys.js'
import { hashPassword, isGuessable, isPassword, MAX_PASSWORD, MIN_PASSWORD } from '../../domain/access/password.js'
import { seal, unseal } from '../../domain/access/sealed.js'
import { readTotpCode, readTotpSecret } from '../../domain/access/totp.js'
import type { Clock } from '../../domain/clock.js'
import { Refusal, refuse } from '../../domain/errors.js'
import { newId } from '../../domain/id.js'
import { countCharacters, cutText } from '../../domain/text/text.js'
import { HOUR_MS } from '../../domain/units.js'
import { Semaphore } from '../../runtime/semaphore.js'
import { recordAudit } from '../../store/audit.js'
import { findOperator, type StoredOperator, spendTotpPeriod } from '../../store/console/operators.js'
import { insertSession } from '../../store/console/sessions.js'
import { type Pool, type Queryable, transaction } from '../../store/postgres.js'
import { countWrongGuess, readLock } from '../../store/recipient/guesses.js'
import type { SealedValues } from '../../store/sealed-values.js'
import { readDevice } from './devices.js'

export interface SignInParts {
  pool: Pool
  clock: Clock
  keys: Pick<Keys, 'sealing' | 'derive'>
}

/** Where a person signs in from, as their list of sessions shows it. */
export interface Client {
  address: string
  agent: string
  /** What the browser shows of an earlier sign-in (devices.ts). */
  device: string | null
}

export const SESSION_LIFE_MS = 12 * HOUR_MS
const SECRET_BYTES = 32
const MAX_AGENT = 300
/** A person mistypes a few times; a program guesses thousands of times. */
const WINDOW = { windowMs: 15 * 60_000, lockMs: 15 * 60_000 }
const WRONG = { device: 10, person: 10, address: 50 }
/** Each guess takes 32 MiB and a thread for a while. */
const hashing = new Semaphore({
  permits: 2,
  maxWaiting: 32,
  maxWaitMs: 10_000,
  refusal: () => new Refusal('overloaded', [], { retryAfter: 5 }),
})

export const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url')
/** Secrets are random, so a plain hash hides them as well as a slow one. */
export const secretHash = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Checks password and code. A right password without the code that is needed gives 'code'; a person who guesses is locked out. */
export async function checkSignIn(
  { pool, clock, keys }: SignInParts,
  { email, password, code }: { email: string; password: string; code: string | null },
  client: Client,
): Promise<StoredOperator | 'code'> {
  const person = email.trim().toLowerCase()
  const operator = await findOperator(pool, person)
  const device = operator && readDevice(keys, operator, client.device)
  const locks = device === null ? locksOfStranger(person, client) : [lockOf('device', device)]
  refuseLocked(
    await readLock(
      pool,
      locks.map(({ key }) => key),
    ),
  )
  const isRight = await hashing.run(() => isPassword(password, operator?.password ?? null))
  if (!isRight || operator === null) return countWrong(pool, locks, 'signInRefused')
  if (operator.totpSecret === null) return operator
  if (code === null) return 'code'
  const period = readTotpCode(unsealTotp(keys, operator), code, clock(), operator.totpPeriod)
  const isNew = period !== null && (await spendTotpPeriod(pool, operator.id, period))
  return isNew ? operator : countWrong(pool, locks, 'wrongCode')
}

/** The address is hashed: whatever is typed here, also a password by mistake, must not be stored. */
const locksOfStranger = (email: string, { address }: Client): readonly Lock[] => [
  lockOf('person', secretHash(email).toString('base64url')),
  lockOf('address', addressGroup(address)),
]

interface Lock {
  key: string
  wrong: number
}

const lockOf = (kind: keyof typeof WRONG, name: string): Lock => ({ key: `console ${kind} ${name}`, wrong: WRONG[kind] })

/** For a change that takes more than a session: whoever finds a browser open must not take the person's place. */
export async function confirmPassword(
  { pool }: SignInParts,
  { id, password: stored }: StoredOperator,
  password: string,
): Promise<void> {
  // The session says who it is: guesses of strangers at the sign-in do not count here.
  const locks = [lockOf('device', id)]
  refuseLocked(
    await readLock(
      pool,
      locks.map(({ key }) => key),
    ),
  )
  if (!(await hashing.run(() => isPassword(password, stored)))) await countWrong(pool, locks, 'wrongPassword')
}

async function countWrong(
  pool: Pool,
  locks: readonly Lock[],
  refusal: 'signInRefused' | 'wrongCode' | 'wrongPassword',
): Promise<never> {
  let lockedMs = 0
  for (const lock of locks) lockedMs = Math.max(lockedMs, await countWrongGuess(pool, { ...lock, ...WINDOW }))
  refuseLocked(lockedMs)
  return refuse(refusal)
}

function refuseLocked(ms: number): void {
  if (ms <= 0) return
  const minutes = Math.ceil(ms / 60_000)
  throw new Refusal('tooManyGuesses', [minutes === 1 ? '1 minuto' : `${minutes} minutos`], { retryAfter: Math.ceil(ms / 1000) })
}

/** A session under a new secret, whatever secret the browser had before: a secret that somebody planted there is worth nothing. */
export async function openSession(db: Queryable, operator: { id: string; email: string }, client: Client): Promise<string> {
  const secret = newSecret()
  const session = { id: newId(Date.now()), secretSha256: secretHash(secret), operator: operator.id, lifeMs: SESSION_LIFE_MS }
  await insertSession(db, { ...session, address: client.address, agent: cutText(client.agent, MAX_AGENT) })
  await recordAudit(db, { actor: actorOf(operator), action: 'sign in', subject: session.id, detail: { address: client.address } })
  return secret
}

export const signIn = ({ pool }: SignInParts, operator: StoredOperator, client: Client): Promise<string> =>
  transaction(pool, db => openSession(db, operator, client))

/** Names a person in the log of actions. */
export const actorOf = ({ email }: { email: string }): string => `operator:${email}`

export async function hashNewPassword(password: string, about: readonly string[]): Promise<string> {
  const length = countCharacters(password)
  if (length < MIN_PASSWORD || length > MAX_PASSWORD) refuse('passwordShort', String(MIN_PASSWORD), String(MAX_PASSWORD))
  if (isGuessable(password, about)) refuse('passwordGuessable')
  return hashing.run(() => hashPassword(password))
}

export const sealedTotps: SealedValues = {
  table: 'operator',
  column: 'totp_secret',
  id: 'id::text',
  contextOf: id => totpContext(id),
}

const totpContext = (operator: string): string => `operator ${operator} totp`

const unsealTotp = ({ sealing }: Pick<Keys, 'sealing'>, { id, totpSecret }: StoredOperator): Buffer =>
  unseal(sealing, totpSecret!, totpContext(id))

/** The secret that a person's app has, once a code of it proves that. */
export function sealTotp(
  { sealing }: Pick<Keys, 'sealing'>,
  operator: string,
  { secret, code }: { secret: string; code: string },
  nowMs: number,
): { totpSecret: Buffer; totpPeriod: number } {
  const bytes = readTotpSecret(secret) ?? refuse('badSecret')
  const totpPeriod = readTotpCode(bytes, code, nowMs, 0) ?? refuse('wrongCode')
  return { totpSecret: seal(sealing, bytes, totpContext(operator)), totpPeriod }
}
