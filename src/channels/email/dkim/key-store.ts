import { type Queryable, run } from '../../../store/postgres.js'
import type { DkimAlgorithm, DkimName } from './signing-key.js'

/** A domain may have several keys: the key activated last signs, the others wait for their DNS record or for their removal. */
export interface DkimKey extends DkimName {
  id: number
  algorithm: DkimAlgorithm
  createdAt: Date
  activatedAt: Date | null
  signs: boolean
}

const SIGNING =
  'select distinct on (domain) * from dkim_key where activated_at is not null order by domain, activated_at desc, id desc'

const COLUMNS = `k.id, k.domain, k.selector, k.algorithm, k.created_at as "createdAt", k.activated_at as "activatedAt",
  k.id in (select id from (${SIGNING}) s) as signs`

export async function listDkimKeys(db: Queryable): Promise<DkimKey[]> {
  return (await run<DkimKey>(db, `select ${COLUMNS} from dkim_key k order by k.domain, k.id`)).rows
}

export async function findDkimKey(db: Queryable, { domain, selector }: DkimName) {
  const { rows } = await run<DkimKey & { privateKey: Buffer }>(
    db,
    `select ${COLUMNS}, k.private_key as "privateKey" from dkim_key k where k.domain = $1 and k.selector = $2`,
    [domain, selector],
  )
  return rows[0] ?? null
}

/** False: the domain already has a key of that selector. */
export async function insertDkimKey(db: Queryable, key: DkimName & { algorithm: DkimAlgorithm; privateKey: Buffer }) {
  const { rowCount } = await run(
    db,
    `insert into dkim_key (domain, selector, algorithm, private_key) values ($1, $2, $3, $4)
     on conflict (domain, selector) do nothing`,
    [key.domain, key.selector, key.algorithm, key.privateKey],
  )
  return rowCount === 1
}

/** Until this transaction ends no other transaction activates or removes a key of the domain. */
export async function lockDkimDomain(db: Queryable, domain: string): Promise<void> {
  await run(db, 'select from dkim_key where domain = $1 order by id for update', [domain])
}

/** From now on this key signs, also if the clock was ahead at an earlier activation. False: the key was removed. */
export async function activateDkimKey(db: Queryable, id: number): Promise<boolean> {
  const { rowCount } = await run(
    db,
    `update dkim_key k set activated_at = greatest(
       now(), (select max(o.activated_at) + interval '1 microsecond' from dkim_key o where o.domain = k.domain))
     where k.id = $1`,
    [id],
  )
  return rowCount === 1
}

export async function deleteDkimKey(db: Queryable, id: number): Promise<void> {
  await run(db, 'delete from dkim_key where id = $1', [id])
}

export interface SigningRow extends DkimName {
  id: number
  /** null: the caller has the key. */
  privateKey: Buffer | null
}

/** The key that signs for each domain. Keys that the caller knows come without their secret, so that a refresh costs little. */
export async function readSigningKeys(db: Queryable, known: readonly number[]): Promise<SigningRow[]> {
  const { rows } = await run<SigningRow>(
    db,
    `select s.id, s.domain, s.selector, case when s.id = any($1) then null else s.private_key end as "privateKey" from (${SIGNING}) s`,
    [known],
  )
  return rows
}
