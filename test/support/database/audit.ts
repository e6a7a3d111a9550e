import type { TestDatabase } from './database.js'

/** Nothing can be added to the log of actions, until the end. */
export async function refuseAudit({ asOwner }: Pick<TestDatabase, 'asOwner'>): Promise<{ end(): Promise<unknown> }> {
  await asOwner(
    `create function refuse_audit() returns trigger language plpgsql as $$ begin raise exception 'no entry'; end $$;
     create trigger refuse_audit before insert on audit for each row execute function refuse_audit()`,
  )
  return { end: () => asOwner('drop function refuse_audit cascade') }
}
