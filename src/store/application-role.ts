import { CAN_SET_ROLE, execute, type Queryable, queryRow, queryValue, SHARED_ROLE, sqlState } from './postgres.js'

/**
 * Lets a role use the schema; null: the shared role, which is created where the owner may create roles. Otherwise the
 * database's administrator must: until then only the triggers protect the history, and the start warns about it.
 */
export async function admitApplication(owner: Queryable, application: string | null, isChanged: boolean): Promise<void> {
  const role = application ?? SHARED_ROLE
  if (application === null && !(await mayTakeOn(owner, role))) return
  const granted = await queryValue<boolean>(owner, "select has_table_privilege($1, 'event', 'insert')", [role])
  // Not at every start: a change of rights collides with other changes of the catalogue. A restored dump has none.
  if (isChanged || granted !== true) await execute(owner, 'select grant_application($1)', [role])
}

/** Whether admitApplication has nothing to do. */
export const isAdmitted = async (owner: Queryable, application: string | null): Promise<boolean> =>
  (await queryValue<boolean>(
    owner,
    `select count(*) > 0 from pg_roles where rolname = $1 and ($2 or ${CAN_SET_ROLE}) and has_table_privilege(oid, 'event', 'insert')`,
    [application ?? SHARED_ROLE, application !== null],
  )) === true

/** Creates the role where it is missing. False: the owner may not create or use it. */
async function mayTakeOn(owner: Queryable, role: string): Promise<boolean> {
  try {
    const { exists, usable } = (await queryRow<{ exists: boolean; usable: boolean }>(
      owner,
      `select count(*) > 0 as exists, coalesce(bool_or(${CAN_SET_ROLE}), false) as usable from pg_roles where rolname = $1`,
      [role],
    ))!
    if (!exists) await createRole(owner, role)
    if (!usable) await execute(owner, `grant ${role} to current_user`)
    return true
  } catch (error) {
    // 42501: an administrator must create the role, or grant it.
    if (sqlState(error) === '42501') return false
    throw error
  }
}

async function createRole(owner: Queryable, role: string): Promise<void> {
  try {
    await execute(owner, `create role ${role} nologin`)
  } catch (error) {
    // Roles belong to the whole server: the start of another installation may have created it at the same moment.
    if (!['42710', '23505'].includes(sqlState(error))) throw error
  }
}

/** Whether this connection could rewrite the history, were it not for the triggers, which an owner can switch off. */
export const mayRewriteHistory = async (db: Queryable): Promise<boolean> =>
  (await queryValue<boolean>(
    db,
    `select has_table_privilege('event', 'update') or pg_has_role(relowner, 'USAGE') from pg_class where oid = 'event'::regclass`,
  )) === true

/** The user that connected, whatever role the connection took on. */
export const readUser = async (db: Queryable): Promise<string> => (await queryValue<string>(db, 'select session_user::text'))!
