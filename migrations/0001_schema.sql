-- The whole schema. Its parts: the installation and its accounts; budgets and locks; notifications and their record;
-- carriers; webhooks; templates; the recipient's pages; letters; calls; e-mail; the console.
--
-- migrations/schema.sql shows the same schema as a migrated database has it.

-- The installation and its accounts -----------------------------------------------------------------------------------

create table installation (
  only_row boolean primary key default true check (only_row),
  key_fingerprint text not null,
  -- What tokens, links and replies come from, encrypted under the master key; null: the master key itself, which was never rotated.
  root_key bytea,
  -- Raised by every administrative change. Nodes poll the revision and drop their cached accounts and tokens when it moves.
  revision bigint not null default 1,
  -- The folder of this database's objects outside (FILES_URL). A database that is restored from a backup takes another one, so that two
  -- installations with the same FILES_URL never take each other's objects for their own leftovers.
  files_folder text not null default replace(gen_random_uuid()::text, '-', ''),
  created_at timestamptz not null default now()
);

create table entity (
  id uuid primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);

-- Every logo that an account had: e-mails and letters that have gone out still show the logo of their day.
create table logo (
  sha256 bytea primary key,
  type text not null,
  bytes bytea not null
);

create table account (
  id uuid primary key,
  entity_id uuid not null references entity,
  name text not null unique,
  -- Only the settings that differ from the defaults of src/domain/account.ts.
  settings jsonb not null default '{}',
  sequence jsonb,
  logo bytea references logo,
  -- Raised by every change of the row. A send is written only if its deliveries were planned with the current revision.
  revision bigint not null default 1,
  created_at timestamptz not null default now()
);

create table token (
  jti uuid primary key,
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  label text,
  issued_at timestamptz not null,
  expires_at timestamptz,
  revoked_at timestamptz
);
create index token_account on token (account_id, jti);

-- The networks from which an account may send.
create table address_range (
  account_id uuid not null references account,
  range cidr not null,
  created_at timestamptz not null default now(),
  primary key (account_id, range)
);
create index address_range_contains on address_range using gist (range inet_ops);

create function bump_revision() returns trigger language plpgsql as $$
begin
  update installation set revision = revision + 1;
  return null;
end $$;

create function raise_account_revision() returns trigger language plpgsql as $$
begin
  new.revision := old.revision + 1;
  return new;
end $$;

create trigger account_revised before update on account for each row execute function raise_account_revision();
create trigger account_changed after insert or update or delete on account for each statement execute function bump_revision();
create trigger token_changed after insert or update or delete on token for each statement execute function bump_revision();
create trigger address_range_changed after insert or update or delete on address_range for each statement execute function bump_revision();

-- The log of administrative actions, as one chain: the hash of a row covers the hash of the row before it (src/domain/evidence/audit-chain.ts).
-- Writers take turns (src/store/audit.ts), so that the ids have no gaps.
create table audit (
  id bigint primary key,
  at timestamptz not null,
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null,
  prev bytea not null,
  hash bytea not null
);
-- What one person did, newest first.
create index audit_actor on audit (actor, id);

-- Budgets and locks ---------------------------------------------------------------------------------------------------

-- One row per request budget: an account's tier, or an address that fails to authenticate. Nodes lease chunks of a budget.
create table rate_window (
  key text primary key,
  started_at timestamptz not null,
  used integer not null,
  -- The size of the latest chunk.
  granted integer not null
);

-- Wrong guesses at short link codes: one row per client address, and one row for all addresses together. And at the console's
-- passwords: one row per client address, and one per e-mail address.
create table guess_window (
  key text primary key,
  started_at timestamptz not null,
  wrong integer not null,
  locked_until timestamptz
);

-- Until when the rate of a carrier is booked, for all nodes together. Unlogged: a crash gives one burst twice at worst.
create unlogged table carrier_rate (
  carrier text primary key,
  spent_until timestamptz not null,
  -- How many sends the latest booking was given.
  granted integer not null
);

-- What a person holds back: deliveries that match a row stay in the queue. null: any channel, carrier, account; all three: everything.
create table hold (
  id bigint generated always as identity primary key,
  channel text,
  -- An identity, or a provider for all of its carriers.
  carrier text,
  account_id uuid references account,
  reason text not null,
  held_by text not null,
  created_at timestamptz not null default now()
);
create unique index hold_scope on hold (channel, carrier, account_id) nulls not distinct;

-- Which copy of the database this is ------------------------------------------------------------------------------------

-- Which server this is; 0 where the service does not tell.
create function server_identity() returns bigint language plpgsql stable as $$
begin
  return (select system_identifier from pg_control_system());
exception when insufficient_privilege then
  return 0;
end $$;

-- The timeline that the server writes on: a promotion or a recovery to a point in time begins another one. 0: it does not tell.
create function server_timeline() returns integer language plpgsql stable as $$
begin
  return case when pg_is_in_recovery() then 0 else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end;
exception when others then
  return 0;
end $$;

-- The server on which this database was last known to be the living one: docs/adr/0043-an-old-copy-sends-nothing.md. Nothing is claimed
-- while started_at is not the start of the server that answers: a node looks first whether this is a copy.
create table home_server (
  only_row boolean primary key default true check (only_row),
  -- Of the installation; nodes remember outside the database how far it had come.
  installation uuid not null default gen_random_uuid(),
  server bigint not null,
  -- On one server a database that is restored, or cloned, is another one.
  database oid not null,
  timeline integer not null,
  -- null: nobody has looked since the database was restored.
  started_at timestamptz
);
insert into home_server (server, database, timeline, started_at)
select server_identity(), oid, server_timeline(), pg_postmaster_start_time() from pg_database where datname = current_database();

-- Each time that the database was found to be a copy, and what was held then.
create table restoration (
  id bigint generated always as identity primary key,
  -- backup: carteiro restore made it. server: another server. timeline: recovered or promoted. behind: older than a node remembers. folder: the
  -- data folder was copied with what the node remembers.
  cause text not null check (cause in ('backup', 'server', 'timeline', 'behind', 'folder')),
  -- In words, for people.
  detail text not null,
  noticed_at timestamptz not null default now(),
  -- What is held had this number (notification.code) or a lower one, so that no clock is asked which notifications are of the copy. null:
  -- batches are not paused yet, and what they send belongs to the copy too.
  last_code bigint,
  -- Where it was marked: the start of the server, and the database. A copy that was made meanwhile is marked again.
  marked_start timestamptz,
  marked_database oid,
  -- null: what was under way is still being held; nothing is sent until it is.
  held_at timestamptz,
  held integer not null default 0
);
create index restoration_open on restoration (id) where held_at is null;

-- Notifications and their record --------------------------------------------------------------------------------------
--
-- notification, attachment, delivery, event and sent_content are partitioned by month on the notification's UUIDv7: its first 48 bits
-- are the millisecond of acceptance. These tables have no foreign keys to each other: one statement writes them together,
-- and whole months are dropped together.

create sequence notification_code;

create table notification (
  id uuid primary key,
  code bigint not null default nextval('notification_code'),
  account_id uuid not null,
  mode text not null,
  accepted_at timestamptz not null,
  -- The time of sending that the request asked for; null: at once.
  send_at timestamptz,
  custom_id text,
  recipient_name text,
  subject text,
  content text,
  -- {question, salt, hash}. The expected reply itself is never stored.
  validation jsonb,
  -- When its personal data were erased (erase_data); null: they are here, but for the kinds whose term is over.
  erased_at timestamptz,
  -- Since when a part of what it would be sent with is erased: it is never sent again.
  incomplete_since timestamptz
) partition by range (id);
-- Lists and searches of a scope, newest first: the id is the last column, so that a page is a range of the index.
create index notification_scope on notification (account_id, mode, id);
create index notification_custom_id on notification (account_id, mode, custom_id, id) where custom_id is not null;

create table blob (
  sha256 bytea primary key,
  size integer not null,
  -- null: they are outside of the database: docs/adr/0049-files-may-live-outside-the-database.md.
  bytes bytea,
  -- The name outside. Its random part makes an object belong to one row: whoever has deleted the row may delete the object.
  object text,
  -- The SHA-256 of each 256 KiB of an object, one after the other: a part of it is verified without the rest.
  pieces bytea,
  -- Renewed by every use: the sweep of unused blobs must not delete a blob that a send in progress is about to refer to.
  touched_at timestamptz not null default now(),
  check ((bytes is null) <> (object is null)),
  check ((object is null) = (pieces is null))
);

-- Attachments are nearly always compressed formats: compressing them again costs CPU and saves nothing. PostgreSQL 15 does
-- not take this setting inside "create table".
alter table blob alter column bytes set storage external;

create table attachment (
  notification_id uuid not null,
  ordinal smallint not null,
  name text not null,
  sha256 bytea not null,
  size integer not null,
  primary key (notification_id, ordinal)
) partition by range (notification_id);
create index attachment_sha256 on attachment (sha256);

-- One row per channel of a notification. The status lookup reads this row and workers claim it: there is no other job queue.
create table delivery (
  notification_id uuid not null,
  channel text not null check (channel ~ '^[a-z]+$'),
  account_id uuid not null,
  mode text not null,

  -- waiting: for its condition, at the latest until due_at. queued: may be sent from due_at on. sending: under a lease.
  -- uncertain: the outcome of the latest attempt is unknown, and is looked at again at due_at. unresolved: the outcome is
  -- unknown and only an operator can find it out. done: nothing left to send. dead: attempts are used up, an operator may
  -- retry. cancelled: ended before it was sent.
  state text not null check (state in ('waiting', 'queued', 'sending', 'uncertain', 'unresolved', 'done', 'dead', 'cancelled')),
  due_at timestamptz not null,
  -- Those of the notification, so that a look-up of a status reads this row alone.
  accepted_at timestamptz not null,
  custom_id text,
  -- The place in the order of this notification's channels, and the condition under which this place is needed at all. On
  -- the condition 'failed' no date decides.
  step smallint not null,
  condition text not null check (condition in ('always', 'failed', 'not delivered', 'not read', 'not confirmed')),

  lease_until timestamptz,
  lease_owner uuid,
  attempt integer not null default 0,
  -- The carrier of the latest attempt (smpp:host/digest of the account), and the reference under which that carrier got the
  -- message.
  carrier text,
  reference text,
  -- "ordinal carrier" of every message and every carrier that it was claimed for: only these carriers may report on it.
  attempted text[],
  -- Counts the messages that this delivery sent to its recipient. Part of the reference; raised only after the message
  -- before it has ended.
  ordinal smallint not null default 1,
  -- How many attempts ended with an unknown outcome.
  unknown_count smallint not null default 0,
  -- The message goes, or went, once more although a carrier may have it already.
  resent boolean not null default false,
  -- The only carrier that may take the next attempt, because it may already have the message. null: any carrier of the channel.
  bound_carrier text,
  -- The carriers, by their place in the operator's list, that were tried in this round. On a queued delivery: set only
  -- while another carrier may take it before due_at.
  tried smallint[],
  -- How many attempts went to another carrier in place of one that failed. They do not count against the retry plan.
  failovers smallint not null default 0,
  -- true: it came back to the queue without a call, which moved due_at. false: a rule of contact put it off, so it waits as planned.
  -- null: it is late if it was tried and is not finished.
  delayed boolean,

  recipient text,
  request jsonb not null,
  template_id uuid,
  template_version integer,
  -- Of a batch: single sends of the account are claimed before it.
  bulk boolean not null default false,

  processed_at timestamptz,
  prepared_at timestamptz,
  sent_at timestamptz,
  delivered_at timestamptz,
  read_at timestamptz,
  confirmed_at timestamptz,
  link_opened_at timestamptz,
  answered_at timestamptz,
  failed_at timestamptz,
  cancelled_at timestamptz,
  -- What one message of it has bound of the account's cap; null: the account has none.
  bound_cost numeric(12, 4),

  cancel_reason text check (cancel_reason in ('not needed', 'finalized', 'repeated')),
  failure text,
  failure_detail text,
  answers jsonb,
  -- Of a registered letter.
  tracking_code text,
  -- The SHA-256 of the recording of a call.
  recording bytea,
  -- The delivered parts of a message that travels in several parts.
  parts jsonb,
  -- {by, parts, total}: the parts that a carrier is known to have, of a message whose other parts have an unknown outcome.
  -- Only the other parts are sent again.
  taken jsonb,

  primary key (notification_id, channel),
  -- The reaper finds a delivery of a dead worker by its lease: without one it would stay in this state for ever.
  constraint delivery_sending_is_leased check (state <> 'sending' or (lease_owner is not null and lease_until is not null))
) partition by range (notification_id);
-- Each index holds only the deliveries in one state: finished deliveries cost these indexes nothing.
create index delivery_queued on delivery (channel, mode, account_id, bulk, due_at) where state = 'queued';
create index delivery_failover on delivery (channel, mode, bulk, due_at) where state = 'queued' and tried is not null;
create index delivery_bound on delivery (channel, mode, bound_carrier, due_at) where state = 'queued' and bound_carrier is not null;
-- Steps that a date decides on: those of single sends before those of batches, and by account where more are due than can be decided at once.
create index delivery_waiting on delivery (bulk, due_at) where state = 'waiting' and condition <> 'failed';
create index delivery_waiting_account on delivery (bulk, account_id, due_at) where state = 'waiting' and condition <> 'failed';
-- Steps that only a failure releases.
create index delivery_waiting_failure on delivery (notification_id) where state = 'waiting' and condition = 'failed';
-- For the age of what should have gone and is not finished. A delivery that goes at its first attempt never enters it.
create index delivery_late on delivery (channel, mode, notification_id) where state in ('queued', 'uncertain') and coalesce(delayed, attempt > 0);
create index delivery_leased on delivery (lease_until) where state = 'sending';
create index delivery_uncertain on delivery (due_at) where state = 'uncertain';
-- By carrier: the unknown outcomes of a carrier that does not answer must not delay those of the others.
create index delivery_uncertain_carrier on delivery (channel, mode, carrier, due_at) where state = 'uncertain';
-- What waits for a person, newest first: an account with none must not read those of the others. Ordinary deliveries never enter these.
create index delivery_uncertain_account on delivery (account_id, mode, notification_id, channel) where state = 'uncertain';
create index delivery_unresolved on delivery (account_id, mode, notification_id, channel) where state = 'unresolved';
create index delivery_dead on delivery (account_id, mode, notification_id, channel) where state = 'dead';
-- Counts those that gave up, of all and of the last hour. They stay for years.
create index delivery_dead_since on delivery (channel, mode, failed_at) where state = 'dead';
-- Finds the message that a recipient's reply belongs to, by the number (E.164). E-mail addresses cost the index nothing.
create index delivery_number on delivery (recipient, notification_id) where recipient like '+%';
-- Finds the notifications of a scope to an address, a number or a name, newest first.
create index delivery_recipient on delivery (account_id, mode, lower(recipient), notification_id) where recipient is not null;
-- Registered letters on their way.
create index delivery_tracked on delivery (notification_id)
  where channel = 'letter' and tracking_code is not null and delivered_at is null and failure is null;

-- Append only. hash = SHA-256 of the canonical JSON of {v, notification, seq, at, type, source, commit, prev};
-- commit = SHA-256(salt || canonical JSON of data): data and salt can be erased and the chain still verifies.
create table event (
  notification_id uuid not null,
  seq integer not null,
  at timestamptz not null,
  type text not null,
  source text not null,
  data jsonb,
  salt bytea,
  commit bytea not null,
  prev bytea not null,
  hash bytea not null,
  -- The transaction that wrote the event. A reader that stops below the oldest open transaction never misses an event
  -- that commits late: docs/adr/0014-commit-ordered-events.md.
  transaction_id xid8 not null default pg_current_xact_id(),
  primary key (notification_id, seq)
) partition by range (notification_id);
-- A B-tree: BRIN has no operator class for xid8 and returns no order, so each page would sort all events after the
-- position. On transaction_id alone: inserts go to the last page of the index, equal ids are stored once, and the events
-- of one transaction are few enough to sort while they are read.
create index event_transaction on event (transaction_id);

create table idempotency (
  account_id uuid not null,
  mode text not null check (mode in ('live', 'test')),
  key text not null,
  body_sha256 bytea not null,
  notification_id uuid not null,
  created_at timestamptz not null,
  primary key (account_id, mode, key)
);
create index idempotency_created on idempotency (created_at);

create table suppression (
  account_id uuid not null references account,
  -- What happens to a test send suppresses nobody for live sends.
  mode text not null check (mode in ('live', 'test')),
  channel text not null,
  -- In lower case.
  recipient text not null,
  reason text not null,
  -- The notification that caused the suppression; null: an operator added it, or the notification was erased.
  notification_id uuid,
  created_at timestamptz not null default now(),
  primary key (account_id, mode, channel, recipient)
);
-- The console lists them, the latest first.
create index suppression_created on suppression (account_id, mode, created_at, channel, recipient);

-- Evidence: the content as it left ------------------------------------------------------------------------------------
--
-- One row per event that says that a carrier took a message, or may have taken it. The event's data has a digest of the
-- sender's copy and a commitment to what that copy hides: docs/evidence.md, "O conteúdo como saiu".
create table sent_content (
  notification_id uuid not null,
  -- Of the event.
  seq integer not null,
  channel text not null,
  -- Of the sender's copy: its type, the ending of its file's name, its digest. It is the message with stars in place of what
  -- only the recipient may know; or, where that cannot be cut out of the message, the same content in another form.
  type text not null,
  extension text not null,
  size integer not null,
  sha256 bytea not null,
  -- [{at, length, sha256, encoding}]: the parts of the message that are blobs, and how the message has them. They are not
  -- stored a second time for each recipient.
  files jsonb,
  -- [[at, length]]: what the sender's copy hides, and the salt of its commitment.
  hidden jsonb,
  salt bytea,
  -- {type, extension, size, sha256} of the message, where the sender's copy has another form.
  message jsonb,
  -- The message without its blobs; or the sender's copy, where that has another form.
  -- frame-1: deflated with the dictionary of that name, src/domain/delivery/content-dictionary.ts.
  packing text not null check (packing in ('none', 'deflate', 'frame-1')),
  bytes bytea not null,
  primary key (notification_id, seq)
) partition by range (notification_id);

-- The history is append only, for every role: the program's own role may not even try (grant_application below).
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% on % is refused: its rows are never changed', tg_op, tg_table_name using errcode = 'insufficient_privilege';
end $$;

-- Lets nothing pass but the erasure of personal data by erase_data. An event loses its data and its salt, and nothing else of it
-- changes: docs/adr/0047-personal-data-go-and-the-proof-stays.md.
create function refuse_change_but_erasure() returns trigger language plpgsql as $$
begin
  if current_setting('carteiro.erasing', true) = 'yes' then
    if tg_op = 'DELETE' and tg_argv[0] = 'rows' then return old; end if;
    if tg_op = 'UPDATE' and tg_argv[0] = 'columns' then
      -- What an erasure may change of this table is named by the trigger; it becomes null, or says when.
      if to_jsonb(new) - tg_argv[1:] = to_jsonb(old) - tg_argv[1:] then return new; end if;
    end if;
  end if;
  raise exception '% on % is refused: its rows are never changed', tg_op, tg_table_name using errcode = 'insufficient_privilege';
end $$;

create trigger notification_unchanged before update or delete on notification for each row
  execute function refuse_change_but_erasure('columns', 'custom_id', 'recipient_name', 'subject', 'content', 'validation', 'erased_at', 'incomplete_since');
create trigger attachment_unchanged before update or delete on attachment for each row execute function refuse_change_but_erasure('rows');
create trigger sent_content_unchanged before update or delete on sent_content for each row execute function refuse_change_but_erasure('rows');
create trigger audit_unchanged before update or delete on audit for each row execute function refuse_change();
create trigger event_undeleted before delete on event for each row execute function refuse_change();
-- The owner gives restored events ids of the new server: docs/adr/0014-commit-ordered-events.md.
create trigger event_unchanged before update on event for each row
  when ((old.notification_id, old.seq, old.at, old.type, old.source, old.data, old.salt, old.commit, old.prev, old.hash)
    is distinct from (new.notification_id, new.seq, new.at, new.type, new.source, new.data, new.salt, new.commit, new.prev, new.hash))
  execute function refuse_change_but_erasure('columns', 'data', 'salt');
-- Partitions inherit the triggers of rows. Triggers of statements they do not: ensure_month makes them.
create trigger notification_untruncated before truncate on notification for each statement execute function refuse_change();
create trigger attachment_untruncated before truncate on attachment for each statement execute function refuse_change();
create trigger audit_untruncated before truncate on audit for each statement execute function refuse_change();
create trigger event_untruncated before truncate on event for each statement execute function refuse_change();
create trigger sent_content_untruncated before truncate on sent_content for each statement execute function refuse_change();

-- Plans are chosen by the columns that indexes have. Statistics of the others, long texts and bytes among them, took a second of a
-- processor every minute beside a batch; and each time a table is analyzed, every session plans its statements again. So these tables
-- gather statistics of the columns of their indexes alone, and only when half of their rows are new or changed.
create function keep_statistics_of_indexes(of regclass) returns void language plpgsql as $$
declare
  unindexed name;
begin
  for unindexed in
    select attname from pg_attribute where attrelid = of and attnum > 0 and not attisdropped
      and not exists (select from pg_index where indrelid = of and attnum = any(indkey::smallint[]))
      -- Columns of expressions, and of the conditions of partial indexes.
      and not exists (select from pg_depend join pg_index on indexrelid = objid
        where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and refobjid = of and refobjsubid = attnum)
  loop
    execute format('alter table %s alter column %I set statistics 0', of, unindexed);
  end loop;
  execute format('alter table %s set (autovacuum_analyze_threshold = 10000, autovacuum_analyze_scale_factor = 0.5)', of);
end $$;

-- Creates the partitions of the month that holds the given moment. Safe to call again and from several nodes. Runs as the
-- owner: the program's role creates no tables and has no rights on single partitions.
create function ensure_month(moment timestamptz) returns void language plpgsql security definer set search_path = public, pg_temp as $$
declare
  month timestamp := date_trunc('month', moment at time zone 'UTC');
  low uuid := (lpad(to_hex((extract(epoch from month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  high uuid := (lpad(to_hex((extract(epoch from month + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  parent text;
  child text;
begin
  foreach parent in array array['notification', 'attachment', 'delivery', 'event', 'sent_content'] loop
    child := parent || to_char(month, '_YYYY_MM');
    if to_regclass('public.' || child) is null then
      -- "partition of" would lock the parent against reads and writes; attaching a finished table does not.
      execute format('create table public.%I (like public.%I including defaults including constraints)', child, parent);
      if parent <> 'delivery' then
        execute format('create trigger %I before truncate on public.%I for each statement execute function refuse_change()',
          parent || '_untruncated', child);
      end if;
      execute format('alter table public.%I attach partition public.%I for values from (%L) to (%L)', parent, child, low, high);
      perform keep_statistics_of_indexes(('public.' || child)::regclass);
      -- Plans are made once for all accounts. Where few accounts have most rows, a page would be looked for among the rows of all of them, from
      -- the newest one on: a small account's page would read the whole month. As one of many accounts, each is looked for by its own index.
      if parent = 'notification' then
        execute format('alter table public.%I alter column account_id set (n_distinct = 10000)', child);
      end if;
    end if;
  end loop;
end $$;

-- The least id of the oldest month in which a delivery is still to be sent or looked after; null: there is none. Workers look for work
-- from there on, so that months which ended long ago cost them nothing. Runs as the owner, who may read single partitions. Each
-- condition has an index of its own: waiting steps have two.
create function open_since() returns uuid language plpgsql stable security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  month record;
  open text;
  is_open boolean;
begin
  for month in
    select c.oid::regclass as child, (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'FROM \(''([0-9a-f-]{36})'))[1]::uuid as low
    from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'public.delivery'::regclass order by 2
  loop
    foreach open in array array[$q$state = 'queued'$q$, $q$state = 'waiting' and condition <> 'failed'$q$,
      $q$state = 'waiting' and condition = 'failed'$q$, $q$state = 'sending'$q$, $q$state = 'uncertain'$q$] loop
      execute format('select exists (select from %s where %s)', month.child, open) into is_open;
      if is_open then return month.low; end if;
    end loop;
  end loop;
  return null;
end $$;

-- Carriers ------------------------------------------------------------------------------------------------------------

-- The carrier's own reference of a message, or of one part of it: later reports name the message by it.
create table carrier_reference (
  -- The identity of the carrier. The names of two carriers may be the same: many count from 1.
  carrier text not null,
  reference text not null,
  notification_id uuid not null,
  channel text not null,
  ordinal smallint not null,
  part smallint not null,
  parts smallint not null,
  created_at timestamptz not null default now(),
  primary key (carrier, reference)
);
-- In the order of the deletions, which read what they delete and nothing else: channels keep their references for different times. It is
-- 72 bytes of WAL a message, 1% of all. BRIN is free, but once the pages at the front are used again its ranges match every time, and an
-- hourly deletion reads the whole table.
create index carrier_reference_created on carrier_reference (channel, created_at);

-- Reports that arrived before the reference that they name was committed. Most reports that match nothing never will: they
-- are about messages that others send under the same carrier account. So each report is probed a few times with growing
-- waits, and again when a reference or an unknown outcome that it may be about is stored.
create table early_report (
  id bigint generated always as identity primary key,
  -- The source of the report: the report may be about its messages alone.
  channel text not null,
  carriers text[] not null,
  modes text[] not null,
  names text[] not null,
  report jsonb not null,
  received_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  probes smallint not null default 0
);
create index early_report_received on early_report (received_at);
create index early_report_due on early_report (due_at, id);
-- Without fastupdate: every send searches this index, and would read the whole pending list each time.
create index early_report_names on early_report using gin (names) with (fastupdate = off);
create index early_report_tagged on early_report ((report #>> '{of,tag,recipient}')) where (report #>> '{of,tag,recipient}') is not null;

-- The parts of a long reply by SMS. Each part may reach another worker.
create table reply_part (
  carrier text not null,
  -- The identifier that the parts of one reply share.
  name text not null,
  total smallint not null,
  part smallint not null,
  reply jsonb not null,
  received_at timestamptz not null default now(),
  -- The whole reply was recorded. Its parts stay for a while: a part that the carrier repeats must not start a new reply.
  joined boolean not null default false,
  primary key (carrier, name, total, part)
);

-- Webhooks ------------------------------------------------------------------------------------------------------------

create table webhook_endpoint (
  id uuid primary key,
  account_id uuid not null references account,
  -- It gets the events of this mode alone.
  mode text not null check (mode in ('live', 'test')),
  -- null: a listener (carteiro listen), which fetches its messages itself.
  url text,
  payload_version text not null check (payload_version in ('v1', 'v2')),
  -- null: all channels, all statuses.
  channels text[],
  statuses text[],
  -- Encrypted under the master key. The previous secret stays valid for a while after a rotation.
  secret bytea not null,
  previous_secret bytea,
  previous_secret_until timestamptz,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  disabled_reason text check (disabled_reason in ('manual', 'gone', 'failing')),
  -- Failures in a row and the time of the first one. The first success resets both.
  failures integer not null default 0,
  failing_since timestamptz,
  -- The latest failure. A failure that is older than the longest wait between two attempts says nothing about the endpoint now.
  failed_at timestamptz,
  -- While the endpoint fails, all of its messages wait until then. In the past: when it was last paused.
  paused_until timestamptz,
  -- The wait that the endpoint asked for (Retry-After). A request in flight that succeeds ends paused_until, but not this.
  asked_until timestamptz,
  -- The latest visit of a listener.
  seen_at timestamptz,
  -- Deleted endpoints keep their row until their messages are deleted, in batches: there may be millions.
  deleted_at timestamptz
);
create index webhook_endpoint_account on webhook_endpoint (account_id, mode);
create index webhook_endpoint_paused on webhook_endpoint (paused_until) where paused_until is not null;
create index webhook_endpoint_failing on webhook_endpoint (failures) where failures > 0;

-- A UUIDv7 of now. Ids at random would touch another page of an index at each of the four writes of a message: with a million
-- messages, four times as much in the server's log.
create function ordered_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$$;

-- The outbox: the transaction that writes an event writes its messages.
create table webhook_message (
  id uuid primary key,
  endpoint_id uuid not null references webhook_endpoint,
  notification_id uuid not null,
  channel text not null,
  -- The payload is made from this event, which never changes.
  event_seq integer not null,
  -- queued: may be sent from due_at on, or is being sent under a webhook_lease. dead: attempts are used up. held: the endpoint was
  -- disabled when the event happened.
  state text not null default 'queued' check (state in ('queued', 'done', 'dead', 'held')),
  -- Attempts that ended.
  attempt integer not null default 0,
  -- Attempts before the latest replay: a replay starts the retry plan again.
  earlier_attempts integer not null default 0,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  queued_at timestamptz not null default now(),
  -- Assigned while the notification is locked: within one notification it has the order of the events.
  position bigint generated by default as identity
);
-- Partial: messages that are done cost the indexes of the queue nothing.
create index webhook_message_due on webhook_message (endpoint_id, due_at, position) where state = 'queued';
create index webhook_message_order on webhook_message (endpoint_id, notification_id, channel, event_seq) where state = 'queued';
create index webhook_message_history on webhook_message (endpoint_id, created_at);

-- What a worker delivers at this moment: the messages of one claim. A message itself is written once, when the outcome of its attempt is
-- known: to mark it at the claim as well would cost as much as that.
create table webhook_lease (
  id bigint generated always as identity primary key,
  owner uuid not null,
  until timestamptz not null,
  -- Of the messages.
  endpoints uuid[] not null,
  -- Of each message, the attempts that had ended. A message with more is no longer under this lease.
  messages uuid[] not null,
  attempts integer[] not null
);
-- Ids do not compress.
alter table webhook_lease alter endpoints set storage external, alter messages set storage external;
-- What has ended stays in an index until the last transaction that could see it is over; claims read what ends from now on.
create index webhook_lease_until on webhook_lease (until);

-- The log of attempts. The request is not stored: it can be made again from the event and the attempt.
create table webhook_attempt (
  id bigint generated always as identity,
  endpoint_id uuid not null,
  message_id uuid not null,
  attempt integer not null,
  -- The endpoint's address and version at the time of the attempt.
  url text not null,
  payload_version text not null,
  at timestamptz not null,
  duration_ms integer not null,
  -- The HTTP status; null: there was no response.
  status integer,
  -- The reason of a failure; null: the attempt succeeded.
  error text,
  response_headers text,
  response_body text,
  -- Every list is of one endpoint, and every deletion reads the first ids of one. An index of the ids or of the times alone would be written
  -- at each attempt and read by nobody.
  primary key (endpoint_id, id)
);
create index webhook_attempt_failed on webhook_attempt (endpoint_id, id) where error is not null;
create index webhook_attempt_message on webhook_attempt (message_id);

-- Templates -----------------------------------------------------------------------------------------------------------

create table template (
  id uuid primary key,
  account_id uuid not null references account,
  -- live: a template of the account, which both modes may use and only live tokens may edit. test: exists for test tokens alone.
  mode text not null check (mode in ('live', 'test')),
  -- The identifier that the carrier or the sender uses.
  external_id text,
  name text not null,
  channel text not null check (channel ~ '^[a-z]+$'),
  shared boolean not null default false,
  active boolean not null default true,
  version integer not null default 1,
  metadata jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
-- A name means one template: with two, the one that is sent would depend on which was made last.
create unique index template_name on template (account_id, mode, channel, name);

create table template_version (
  template_id uuid not null references template,
  version integer not null,
  content text not null,
  -- [{name, required}]
  variables jsonb not null,
  created_at timestamptz not null default now(),
  primary key (template_id, version)
);

-- The recipient's pages -----------------------------------------------------------------------------------------------

create table link (
  code text primary key,
  notification_id uuid not null,
  channel text not null,
  unique (notification_id, channel)
);

-- One row per notification whose question somebody tried to answer.
create table visit_count (
  notification_id uuid primary key,
  -- Replies since the latest correct reply or lock. A reply is counted before it is checked.
  tries integer not null default 0,
  tried_at timestamptz,
  -- Locks in a row: each lock lasts longer than the one before.
  locks integer not null default 0,
  locked_until timestamptz
);

-- Letters -------------------------------------------------------------------------------------------------------------

-- The PDF of a letter is made once, before the first attempt: every later attempt prints the same bytes.
create table letter (
  notification_id uuid not null,
  ordinal smallint not null,
  -- Of the PDF, which is a blob.
  sha256 bytea not null,
  pages smallint not null,
  -- The printed content as data: the receipt shows it again.
  sheet jsonb not null,
  primary key (notification_id, ordinal)
);
create index letter_sha256 on letter (sha256);

-- The signed receipt of delivery, as the postal service sent it.
create table letter_receipt (
  notification_id uuid primary key,
  type text not null check (type in ('png', 'jpg')),
  bytes bytea not null
);

-- When the postal service is asked for a letter's tracking history again, and the digest of the history that was recorded last.
create table letter_tracking (
  notification_id uuid primary key,
  due_at timestamptz not null,
  seen bytea
);

-- A lot is a file of letters for the postal service. It is uploaded once, by the worker that assigned its letters. Before
-- the upload gives the file its final name, the row records the temporary name, size and digest of the file: after a crash
-- another worker can find out whether the file was uploaded.
create table letter_lot (
  lot bigint generated always as identity primary key,
  -- The identity of the carrier: another one neither looks for the lot nor reports on it.
  carrier text not null,
  created_at timestamptz not null default now(),
  begun_at timestamptz,
  -- The temporary name; null: not known.
  part text,
  size bigint,
  sha256 bytea,
  uploaded_at timestamptz
);

create table letter_lot_object (
  reference text primary key,
  lot bigint not null references letter_lot,
  object integer not null,
  unique (lot, object)
);

-- Calls ---------------------------------------------------------------------------------------------------------------

-- Recordings of calls: announced by a carrier, fetched from it, stored as a blob.
create table recording (
  carrier text not null,
  -- The carrier's name for the recording.
  name text not null,
  notification_id uuid not null,
  ordinal smallint not null,
  -- wanted: to be fetched from due_at on. kept: its blob is stored. missing: the carrier does not have it. expired: the blob
  -- was deleted at the end of its term; the digest stays as evidence.
  state text not null default 'wanted' check (state in ('wanted', 'kept', 'missing', 'expired')),
  due_at timestamptz not null default now(),
  attempt smallint not null default 0,
  seconds integer,
  sha256 bytea,
  created_at timestamptz not null default now(),
  primary key (carrier, name)
);
create index recording_wanted on recording (due_at) where state = 'wanted';
create index recording_kept on recording (created_at) where state = 'kept';
create index recording_notification on recording (notification_id);
create index recording_sha256 on recording (sha256) where sha256 is not null;

-- Calls whose final report may never arrive: the carrier is asked about them until the result is known.
create table call_lookup (
  carrier text not null,
  -- The carrier's name for the call.
  name text not null,
  notification_id uuid not null,
  ordinal smallint not null,
  -- After five minutes most calls have ended and their report has arrived.
  due_at timestamptz not null default now() + interval '5 minutes',
  attempt smallint not null default 0,
  created_at timestamptz not null default now(),
  primary key (carrier, name)
);
create index call_lookup_due on call_lookup (due_at);

-- E-mail --------------------------------------------------------------------------------------------------------------

-- DKIM keys: one or more per sending domain. The key that was activated last signs.
create table dkim_key (
  -- Nodes cache keys by id: a new key under the same selector is another key.
  id bigint generated always as identity primary key,
  -- Domain and selector as in DNS: lower case, ASCII.
  domain text not null check (domain = lower(domain)),
  selector text not null check (selector = lower(selector)),
  algorithm text not null check (algorithm in ('rsa', 'ed25519')),
  -- PKCS#8 in PEM, encrypted with the domain and the selector as context.
  private_key bytea not null,
  created_at timestamptz not null default now(),
  -- null: the DNS record may not be published yet, so nothing is signed with this key.
  activated_at timestamptz,
  unique (domain, selector)
);

-- Replies to e-mails that are to be forwarded to the sender's mailbox. The row is the job, and stays for a while afterwards: a reply
-- that is delivered to us twice is forwarded once.
create table email_forward (
  notification_id uuid not null,
  -- Names the reply: its Message-ID.
  reply_id text not null,
  -- {from, text, files}, without the recipient's link; null: it was forwarded, or never will be.
  reply jsonb,
  -- queued: from due_at on. sending: the carrier may have it. done, failed: ended. unknown: the outcome was lost; not repeated.
  state text not null default 'queued' check (state in ('queued', 'sending', 'done', 'failed', 'unknown')),
  attempt smallint not null default 0,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  primary key (notification_id, reply_id)
);
create index email_forward_due on email_forward (due_at) where state in ('queued', 'sending');
create index email_forward_created on email_forward (created_at);

-- Batches: many sends from one file -----------------------------------------------------------------------------------

-- What the columns of a sender's files mean, under a name.
create table bulk_mapping (
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  name text not null,
  -- {column: [member of the send request]}; null: by the columns' names.
  mapping jsonb,
  -- The members of the send request that are the same in all lines.
  base jsonb not null,
  updated_at timestamptz not null default now(),
  primary key (account_id, mode, name)
);

create table bulk_batch (
  id uuid primary key,
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  name text not null,
  state text not null check (state in ('receiving', 'checking', 'checked', 'sending', 'paused', 'done', 'cancelled')),
  -- Of the file; null: it has not arrived yet.
  sha256 bytea,
  columns jsonb not null default '[]',
  mapping jsonb not null default '{}',
  base jsonb not null,
  -- It is sent as soon as it is checked.
  starts boolean not null default false,
  -- The last line that was checked.
  checked_to integer not null default 0,
  total integer not null default 0,
  good integer not null default 0,
  rejected integer not null default 0,
  accepted integer not null default 0,
  failed integer not null default 0,
  -- The "token" of the first event of its notifications, and the address of whoever started it.
  token text not null,
  address text not null,
  created_by text not null,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  finished_at timestamptz,
  -- The account's pace: no line is accepted before this moment.
  next_at timestamptz not null default now(),
  -- The last line of the turn before: two nodes that send at the same time take different lines.
  turned_to integer not null default 0,
  -- When it was last started or resumed, and how many lines were behind it then: the rate follows from both.
  resumed_at timestamptz,
  resumed_at_line integer not null default 0,
  -- Since when it is paused.
  paused_at timestamptz,
  -- Why it paused without anybody asking for it: a line would have passed the account's cap of the month.
  paused_because text check (paused_because in ('cap')),
  -- Why it was cancelled without anybody asking for it: it was paused, or never started, for longer than its lines are kept.
  expired_while text check (expired_while in ('paused', 'checked')),
  -- When the data of its lines were deleted.
  erased_at timestamptz
);
-- The same file under the same name is the same batch: an upload that is repeated does not send it again.
create unique index bulk_batch_file on bulk_batch (account_id, mode, name, sha256) where sha256 is not null and state <> 'cancelled';
create index bulk_batch_listed on bulk_batch (account_id, mode, id);
create index bulk_batch_active on bulk_batch (state, started_at) where state in ('receiving', 'checking', 'sending');
create index bulk_batch_kept on bulk_batch (created_at) where erased_at is null;

create table bulk_line (
  batch_id uuid not null references bulk_batch on delete cascade,
  -- As an editor or a spreadsheet counts them: the header is line 1.
  line integer not null,
  -- In the order of the batch's columns; null: they were deleted, as the notification has them or their time is over.
  cells jsonb,
  -- accepted: written by the transaction that writes its notification, so that a line is sent once.
  state text not null default 'new' check (state in ('new', 'good', 'rejected', 'accepted', 'failed')),
  error text,
  error_column text,
  notification_id uuid,
  primary key (batch_id, line)
);
create index bulk_line_good on bulk_line (batch_id, line) where state = 'good';
create index bulk_line_refused on bulk_line (batch_id, line) where state in ('rejected', 'failed');
create index bulk_line_accepted on bulk_line (batch_id, line) where state = 'accepted';
select keep_statistics_of_indexes('bulk_line');

-- The console ---------------------------------------------------------------------------------------------------------

-- The people who sign in to the console. operator: everything; sender: one account; auditor: reads and verifies.
create table operator (
  id uuid primary key,
  email text not null unique check (email = lower(email)),
  name text not null,
  role text not null check (role in ('operator', 'sender', 'auditor')),
  account_id uuid references account,
  -- scrypt with its parameters and salt, as src/domain/access/password.ts writes it.
  password text not null,
  -- The secret of the second factor, encrypted under the master key; null: the password alone is asked for.
  totp_secret bytea,
  -- The period of the latest code that was accepted: a code counts once.
  totp_period bigint not null default 0,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  constraint operator_of_account check ((role = 'sender') = (account_id is not null))
);

create table console_session (
  -- Shown in lists. The cookie holds another value, of which only the hash is stored.
  id uuid primary key,
  secret_sha256 bytea not null unique,
  operator_id uuid not null references operator,
  address text not null,
  agent text not null,
  created_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index console_session_operator on console_session (operator_id);

-- One-time links by which a person becomes an operator.
create table invitation (
  secret_sha256 bytea primary key,
  -- null: whoever opens the link says so. Only the link that the start prints while there is no operator.
  email text,
  role text not null check (role in ('operator', 'sender', 'auditor')),
  account_id uuid references account,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint invitation_of_account check ((role = 'sender') = (account_id is not null))
);

-- How many deliveries of the notifications accepted in an hour, and in a day of Brasília, were sent, delivered, read, and have failed.
-- Days are kept beside their hours: a month of hours of all accounts took 30 ms to add up at each look.
-- docs/adr/0037-counts-are-added-up-as-deliveries-change.md
create table delivery_count (
  unit text not null check (unit in ('hour', 'day')),
  mode text not null check (mode in ('live', 'test')),
  starts_at timestamptz not null,
  account_id uuid not null,
  channel text not null,
  accepted bigint not null default 0,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  read bigint not null default 0,
  failed bigint not null default 0,
  primary key (unit, mode, starts_at, account_id, channel)
);

-- What carriers charge for one unit of a channel, in reais, as the operator tells it. carrier: an identity, a provider, or '' for any.
create table price (
  channel text not null,
  carrier text not null,
  price numeric(12, 4) not null check (price >= 0),
  updated_at timestamptz not null default now(),
  primary key (channel, carrier)
);

-- The messages that carriers took, by day of Brasília, with their cost by the prices of that moment.
create table usage_count (
  mode text not null check (mode in ('live', 'test')),
  day date not null,
  account_id uuid not null references account,
  channel text not null,
  carrier text not null,
  messages bigint not null,
  units bigint not null,
  cost numeric(16, 4) not null,
  primary key (mode, day, account_id, channel, carrier)
);

-- What usage_count does not hold yet, as delivery_tally.
create table usage_tally (
  mode text not null,
  day date not null,
  account_id uuid not null,
  channel text not null,
  carrier text not null,
  messages integer not null,
  units integer not null,
  cost numeric(16, 4) not null
);

-- What the sends of a month have bound of the account's cap. Only accounts with a cap have rows.
create table cost_month (
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  month date not null,
  committed numeric(16, 4) not null,
  primary key (account_id, mode, month)
);

-- What cost_month does not hold yet: steps that were cancelled, messages that were repeated.
create table cost_tally (
  account_id uuid not null,
  mode text not null,
  month date not null,
  amount numeric(16, 4) not null
);

-- The messages that a person got, or may have got, in a day of the person's own. One statement counts a message and compares with the
-- limit, so that two workers cannot both take the last place of a day; the same message is counted once, however often it is tried.
create table contact_day (
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  channel text not null,
  recipient text not null,
  day date not null,
  -- Our references.
  messages text[] not null,
  primary key (account_id, mode, channel, recipient, day)
);
create index contact_day_day on contact_day (day);

-- The notification that brings a content to a person, so that another one does not bring the same content again.
create table contact_content (
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  channel text not null,
  recipient text not null,
  -- SHA-256 of everything that the message is made of.
  fingerprint bytea not null,
  notification_id uuid not null,
  at timestamptz not null,
  primary key (account_id, mode, channel, recipient, fingerprint)
);
create index contact_content_at on contact_content (at);

-- What the counts do not hold yet: each transaction adds the differences that it makes. Adding to the counts themselves would make
-- every transaction wait for the one before it.
create table delivery_tally (
  mode text not null check (mode in ('live', 'test')),
  hour timestamptz not null,
  account_id uuid not null,
  channel text not null,
  accepted integer not null default 0,
  sent integer not null default 0,
  delivered integer not null default 0,
  read integer not null default 0,
  failed integer not null default 0
);

-- What each worker says of its carriers, for people. Unlogged: workers repeat it every few seconds.
create unlogged table carrier_health (
  worker uuid not null,
  channel text not null,
  mode text not null check (mode in ('live', 'test')),
  carrier text not null,
  state text not null check (state in ('open', 'paused', 'closed')),
  -- Since this worker started.
  sent bigint not null,
  failed bigint not null,
  -- Messages a second, as the operator limits them; null: without a limit.
  rate integer,
  seen_at timestamptz not null default now(),
  primary key (worker, channel, mode, carrier)
);

-- What all workers together asked of each carrier, and how it answered. Unlogged: a crash of the server begins the counts again, which
-- readers of counters expect. One row for every carrier that was ever configured, until it is silent for a month.
create unlogged table carrier_total (
  channel text not null,
  mode text not null check (mode in ('live', 'test')),
  carrier text not null,
  sent bigint not null,
  temporary bigint not null,
  throttled bigint not null,
  permanent bigint not null,
  uncertain bigint not null,
  -- The calls by their duration: one count for each bound of engine/deliver/call-meter.ts, and one for the longer ones.
  durations bigint[] not null,
  seconds double precision not null,
  updated_at timestamptz not null default now(),
  primary key (channel, mode, carrier)
);

-- The workers that run, or ran within the last hour: they have no address at which they could be asked.
create unlogged table worker_process (
  id uuid primary key,
  version text not null,
  memory_bytes bigint not null,
  cpu_seconds double precision not null,
  in_flight integer not null,
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now()
);

-- How often processes of a role were started.
create unlogged table process_start (
  role text primary key,
  starts bigint not null
);

-- Evidence: the log ---------------------------------------------------------------------------------------------------

-- One append-only Merkle tree (RFC 6962) of all events, in the order of ADR 14. docs/evidence.md has its form.
create table log_leaf (
  -- 0, 1, 2, …
  leaf bigint primary key,
  notification_id uuid not null,
  seq integer not null,
  -- Of the event when it was appended: an event that is changed later differs from it.
  hash bytea not null,
  unique (notification_id, seq)
);
select keep_statistics_of_indexes('log_leaf');

-- The roots of complete sub-trees of 2^height leaves; height is a multiple of 8, so that any proof reads a few hundred hashes.
create table log_node (
  height smallint not null check (height > 0 and height % 8 = 0),
  place bigint not null,
  hash bytea not null,
  primary key (height, place)
);

-- How far the log has come. The node that appends locks the row; the others skip it.
create table log_head (
  is_only boolean primary key default true check (is_only),
  size bigint not null default 0,
  -- The roots of the complete parts of the tree, the largest first, one after the other.
  peaks bytea not null default '',
  -- The position of the last event that was read; null: from the beginning, passing over what the log has.
  transaction_id xid8,
  notification_id uuid,
  seq integer,
  -- Transaction ids, and so the position, belong to one server.
  server bigint
);
insert into log_head default values;

-- The key that signs checkpoints. The first row counts for ever.
create table log_key (
  id smallint primary key check (id = 1),
  -- The log's name, the first line of every checkpoint.
  origin text not null,
  -- PKCS#8 in PEM, encrypted with the origin as context.
  private_key bytea not null,
  -- name+key id+key.
  vkey text not null,
  created_at timestamptz not null default now()
);

create table checkpoint (
  size bigint primary key,
  root bytea not null,
  -- The signed note, with the log's own signature only.
  note text not null,
  at timestamptz not null
);

create table checkpoint_cosignature (
  size bigint not null references checkpoint,
  witness text not null,
  -- The line of the note.
  line text not null,
  at timestamptz not null,
  primary key (size, witness)
);

-- RFC 3161 tokens over the SHA-256 of the note's text.
create table checkpoint_time_stamp (
  size bigint not null references checkpoint,
  authority text not null,
  token bytea not null,
  at timestamptz not null,
  primary key (size, authority)
);

-- Where checkpoints go: archives, witnesses, time-stamp authorities. One node at a time serves a target, until due_at.
create table checkpoint_target (
  -- Without its secrets.
  target text primary key,
  -- The last checkpoint that the target has.
  size bigint not null default 0,
  due_at timestamptz not null default now(),
  failures integer not null default 0,
  error text,
  done_at timestamptz
);

create trigger log_leaf_unchanged before update or delete on log_leaf for each row execute function refuse_change();
create trigger log_node_unchanged before update or delete on log_node for each row execute function refuse_change();
create trigger log_key_undeleted before delete on log_key for each row execute function refuse_change();
-- The owner encrypts it anew when the master key is rotated.
create trigger log_key_unchanged before update on log_key for each row
  when ((old.id, old.origin, old.vkey, old.created_at) is distinct from (new.id, new.origin, new.vkey, new.created_at)) execute function refuse_change();
create trigger checkpoint_unchanged before update or delete on checkpoint for each row execute function refuse_change();
create trigger checkpoint_cosignature_unchanged before update or delete on checkpoint_cosignature for each row execute function refuse_change();
create trigger checkpoint_time_stamp_unchanged before update or delete on checkpoint_time_stamp for each row execute function refuse_change();
create trigger log_leaf_untruncated before truncate on log_leaf for each statement execute function refuse_change();
create trigger log_node_untruncated before truncate on log_node for each statement execute function refuse_change();
create trigger checkpoint_untruncated before truncate on checkpoint for each statement execute function refuse_change();

-- Evidence: signatures of documents ---------------------------------------------------------------------------------------

-- The certificates that this installation made to sign its documents, where none is configured. The newest one signs.
create table document_certificate (
  -- Nodes that start at once make the same ordinal, and the first one wins.
  ordinal integer primary key check (ordinal > 0),
  -- X.509 in DER.
  certificate bytea not null,
  -- PKCS#8 in DER, encrypted with the certificate's digest as context.
  private_key bytea not null,
  created_at timestamptz not null default now()
);

create trigger document_certificate_undeleted before delete on document_certificate for each row execute function refuse_change();
-- As with log_key.
create trigger document_certificate_unchanged before update on document_certificate for each row
  when ((old.ordinal, old.certificate, old.created_at) is distinct from (new.ordinal, new.certificate, new.created_at))
  execute function refuse_change();

-- Ageing --------------------------------------------------------------------------------------------------------------

-- Notifications that are kept as they are, whatever their term and whoever asks: a court may want them. Neither an erasure nor the end of
-- a term touches them, and their month is not dropped.
create table legal_hold (
  notification_id uuid primary key,
  reason text not null,
  held_by text not null,
  created_at timestamptz not null default now()
);

-- When each chore that one node does for all is due again (src/store/chore-turns.ts).
create table chore_turn (
  chore text primary key,
  due_at timestamptz not null
);

-- How far the end of terms has come: every notification of the scope up to done_to was looked at for this kind of data.
create table retention_progress (
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  kind text not null,
  done_to uuid not null,
  primary key (account_id, mode, kind)
);

-- Notifications that were held, or still being delivered, when the term of a kind ended: they are looked at again.
create table retention_postponed (
  account_id uuid not null references account,
  mode text not null check (mode in ('live', 'test')),
  kind text not null,
  notification_id uuid not null,
  tried_at timestamptz not null default now(),
  primary key (account_id, mode, kind, notification_id)
);
-- Those that were looked at longest ago first.
create index retention_postponed_tried on retention_postponed (account_id, mode, kind, tried_at, notification_id);

-- Erases personal data of notifications, by kinds: content, attachments, letters, recordings, visits; and events, which is everything of
-- them. The skeleton stays: ids, dates, states, and of every event its hash. Two kinds more, references and webhooks, are asked for where
-- one person is erased: they have short terms of their own, and finding them costs a look through a whole account.
-- Returns the notifications that were erased: not those that are held, still being delivered, or in another transaction's hands; nor, where
-- only the visits are to go, those with a visit that a webhook still announces.
-- The only way to these rows: docs/adr/0047-personal-data-go-and-the-proof-stays.md.
create function erase_data(asked uuid[], kinds text[]) returns uuid[] language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  whole boolean := 'events' = any(kinds);
  ids uuid[];
  low uuid;
  high uuid;
  since timestamptz;
begin
  -- The bounds keep the other months out of every statement.
  select min(a.id::text)::uuid, max(a.id::text)::uuid into low, high from unnest(asked) as a(id);
  -- First the notifications, then their deliveries, as whoever records facts does.
  ids := array(select n.id from notification n where n.id = any(asked) and n.id >= low and n.id <= high order by n.id for update skip locked);
  perform from delivery d where d.notification_id = any(ids) and d.notification_id >= low and d.notification_id <= high
    order by d.notification_id, d.channel for update;
  -- A statement of its own, so that it sees what was committed while the locks were waited for.
  ids := array(
    select a.id from unnest(ids) as a(id)
    where not exists (select from legal_hold h where h.notification_id = a.id)
      and not exists (select from delivery d where d.notification_id = a.id and d.notification_id >= low and d.notification_id <= high
        and d.state in ('waiting', 'queued', 'sending', 'uncertain', 'unresolved'))
      -- A visit that a webhook is still to announce: without its data there would be nothing to tell.
      and not (kinds = array['visits'] and exists (
        select from notification n join webhook_endpoint w on w.account_id = n.account_id and w.mode = n.mode and w.disabled_at is null
          join webhook_message m on m.endpoint_id = w.id and m.notification_id = n.id and m.state = 'queued'
          join event e on e.notification_id = n.id and e.notification_id >= low and e.notification_id <= high and e.seq = m.event_seq
        where n.id = a.id and n.id >= low and n.id <= high and e.source = 'recipient')));
  if cardinality(ids) = 0 then return ids; end if;
  -- Until the end of this function, or of the transaction if it fails.
  perform set_config('carteiro.erasing', 'yes', true);
  since := to_timestamp(('x' || left(replace(low::text, '-', ''), 12))::bit(48)::bigint / 1000.0) - interval '1 day';

  -- Only where something goes that a later attempt would need: a notification without files or letters loses nothing of them.
  update notification n set incomplete_since = now()
  where n.id = any(ids) and n.id >= low and n.id <= high and n.incomplete_since is null and (
    whole or 'content' = any(kinds)
    or 'attachments' = any(kinds) and exists (
      select from attachment a where a.notification_id = n.id and a.notification_id >= low and a.notification_id <= high)
    or 'letters' = any(kinds) and exists (select from letter l where l.notification_id = n.id));
  if whole or 'content' = any(kinds) then
    -- That there was a question, and which, is part of what the visits prove; nobody needs the answer once there is nothing to read.
    update notification set subject = null, content = null, validation = case when whole then null else validation - '{salt,hash}'::text[] end
    where id = any(ids) and id >= low and id <= high
      and (subject is not null or content is not null or validation ? 'hash' or whole and validation is not null);
    update delivery set request = '{}' where notification_id = any(ids) and notification_id >= low and notification_id <= high and request <> '{}';
    delete from sent_content where notification_id = any(ids) and notification_id >= low and notification_id <= high;
    delete from email_forward where notification_id = any(ids);
  end if;
  if whole or 'attachments' = any(kinds) then
    -- Without its files a message cannot be put together again.
    delete from sent_content where notification_id = any(ids) and notification_id >= low and notification_id <= high
      and files is not null and message is null;
    delete from attachment where notification_id = any(ids) and notification_id >= low and notification_id <= high;
  end if;
  if whole or 'letters' = any(kinds) then
    delete from sent_content where notification_id = any(ids) and notification_id >= low and notification_id <= high and channel = 'letter';
    delete from letter where notification_id = any(ids);
    delete from letter_receipt where notification_id = any(ids);
    delete from letter_tracking where notification_id = any(ids);
  end if;
  if whole then
    delete from recording where notification_id = any(ids);
  elsif 'recordings' = any(kinds) then
    update recording set state = 'expired' where notification_id = any(ids) and state in ('wanted', 'kept');
  end if;
  if whole or 'visits' = any(kinds) then
    update event set data = null, salt = null
    where notification_id = any(ids) and notification_id >= low and notification_id <= high and source = 'recipient' and salt is not null;
    delete from visit_count where notification_id = any(ids);
  end if;
  if 'references' = any(kinds) then
    -- With the channels, the index leaves out what is older than the notifications.
    delete from carrier_reference where notification_id = any(ids) and created_at >= since and channel = any(array(
      select d.channel from delivery d where d.notification_id = any(ids) and d.notification_id >= low and d.notification_id <= high));
    delete from call_lookup where notification_id = any(ids);
  end if;
  if 'webhooks' = any(kinds) then
    with gone as (
      delete from webhook_message where notification_id = any(ids) and created_at >= since returning id
    )
    delete from webhook_attempt where message_id in (select id from gone);
  end if;
  if whole then
    update event set data = null, salt = null
    where notification_id = any(ids) and notification_id >= low and notification_id <= high and salt is not null;
    update delivery set recipient = null, custom_id = null, failure_detail = null, answers = null, tracking_code = null, recording = null
    where notification_id = any(ids) and notification_id >= low and notification_id <= high;
    -- Who must not be written to stays so; only the way back to the notification goes.
    update suppression set notification_id = null where notification_id = any(ids);
    update notification set custom_id = null, recipient_name = null, erased_at = now() where id = any(ids) and id >= low and id <= high;
  end if;
  perform set_config('carteiro.erasing', '', true);
  return ids;
end $$;

-- Months whose rows are in an archive outside of the database and no longer here: docs/adr/0048-months-are-dropped-whole.md. Of their events
-- the log keeps every hash.
create table dropped_month (
  -- Its first day, in UTC.
  month date primary key,
  -- The ids of its notifications: from low on, and below high.
  low uuid not null,
  high uuid not null,
  notifications bigint not null,
  events bigint not null,
  -- Of the archive.
  sha256 bytea not null,
  dropped_at timestamptz not null default now()
);
create trigger dropped_month_unchanged before update or delete on dropped_month for each row execute function refuse_change();
create trigger dropped_month_untruncated before truncate on dropped_month for each statement execute function refuse_change();

-- The least id of a month, or of the month after it.
create function month_bound(month date, months_later integer) returns uuid language sql immutable as $$
  select (lpad(to_hex((extract(epoch from (month + make_interval(months => months_later)) at time zone 'UTC') * 1000)::bigint), 12, '0')
    || repeat('0', 20))::uuid
$$;

-- Why a month may not be dropped; null: it may. young: it ended less than a month ago. older: an older month is still here. kept: a notification
-- has its personal data. held: one is under legal hold. unlogged: an event is not in the log.
create function month_obstacle(month date) returns text language plpgsql stable as $$
declare
  low uuid := month_bound(month, 0);
  high uuid := month_bound(month, 1);
begin
  if to_regclass('public.notification' || to_char(month, '_YYYY_MM')) is null then return 'missing'; end if;
  if month + interval '2 months' > now() at time zone 'UTC' then return 'young'; end if;
  if exists (select from notification where id < low) then return 'older'; end if;
  if exists (select from legal_hold where notification_id >= low and notification_id < high) then return 'held'; end if;
  if exists (select from notification where id >= low and id < high and erased_at is null) then return 'kept'; end if;
  if (select count(*) from event where notification_id >= low and notification_id < high)
    <> (select count(*) from log_leaf where notification_id >= low and notification_id < high) then return 'unlogged'; end if;
  return null;
end $$;

-- Drops the partitions of a month that is in an archive, and what is older than it in the tables without partitions. The owner's alone: the
-- program only adds to its history.
create function drop_month(dropped date, archive bytea) returns void language plpgsql as $$
declare
  first_id uuid := month_bound(dropped, 0);
  next_id uuid := month_bound(dropped, 1);
  ended timestamptz := (dropped + interval '1 month') at time zone 'UTC';
  obstacle text;
  parent text;
begin
  -- First what takes long. A drop locks the whole table, with all of its months, until the commit: every send would wait for these deletes.
  delete from link where notification_id < next_id;
  delete from retention_postponed where notification_id < next_id;
  delete from bulk_batch where finished_at < ended and state in ('done', 'cancelled');
  delete from letter_lot_object o using letter_lot l where l.lot = o.lot and l.created_at < ended;
  delete from letter_lot where created_at < ended;
  delete from delivery_count where starts_at < ended;
  delete from usage_count where day < ended::date;
  delete from cost_month where month <= dropped;
  -- After the deletes: a legal hold or an event may have come while they ran.
  obstacle := month_obstacle(dropped);
  if obstacle is not null then raise exception 'the month % may not be dropped: %', dropped, obstacle using errcode = 'object_not_in_prerequisite_state'; end if;
  insert into dropped_month (month, low, high, notifications, events, sha256)
  select dropped, first_id, next_id, (select count(*) from notification where id >= first_id and id < next_id),
    (select count(*) from log_leaf where notification_id >= first_id and notification_id < next_id), archive;
  foreach parent in array array['notification', 'attachment', 'delivery', 'event', 'sent_content'] loop
    execute format('drop table public.%I', parent || to_char(dropped, '_YYYY_MM'));
  end loop;
end $$;

-- Roles ---------------------------------------------------------------------------------------------------------------

-- Gives a role what the program needs, and no more: it adds to the history, and neither changes nor deletes any of it. It
-- owns nothing, so it cannot drop, alter or truncate a table, nor switch a trigger off. Called after every migration:
-- docs/adr/0023-the-program-does-not-own-its-history.md.
create function grant_application(application name) returns void language plpgsql set search_path = public, pg_temp as $$
declare
  relation text;
begin
  revoke create on schema public from public;
  execute format('grant usage on schema public to %I', application);
  -- Not to partitions: they are reached through their table.
  for relation in
    select oid::regclass from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
  loop
    execute format('revoke all on %s from %I', relation, application);
    execute format('grant select, insert, update, delete on %s to %I', relation, application);
  end loop;
  execute format('revoke update, delete on notification, attachment, event, sent_content, audit, template_version, letter, letter_receipt, logo from %I',
    application);
  execute format('revoke update, delete on document_certificate from %I', application);
  execute format('revoke insert, update, delete on migration from %I', application);
  execute format('revoke update, delete on installation from %I', application);
  execute format('grant update (revision) on installation to %I', application);
  execute format('revoke update on blob from %I', application);
  execute format('grant update (touched_at) on blob to %I', application);
  execute format('revoke update, delete on log_leaf, log_node, log_key, checkpoint, checkpoint_cosignature, checkpoint_time_stamp from %I',
    application);
  execute format('revoke insert, delete on log_head, home_server from %I', application);
  execute format('revoke delete on restoration from %I', application);
  -- A lock on a row takes the right to update some column of it. The trigger refuses the update itself.
  execute format('grant update (code) on notification to %I', application);
  execute format('grant usage on all sequences in schema public to %I', application);
  execute format('grant select, update on sequence letter_lot_lot_seq to %I', application);
  execute format('grant execute on function ensure_month(timestamptz) to %I', application);
  execute format('grant execute on function open_since() to %I', application);
  execute format('grant execute on function erase_data(uuid[], text[]) to %I', application);
  execute format('revoke insert, update, delete on dropped_month from %I', application);
end $$;

revoke execute on function keep_statistics_of_indexes(regclass) from public;
revoke execute on function ensure_month(timestamptz) from public;
revoke execute on function open_since() from public;
revoke execute on function erase_data(uuid[], text[]) from public;
revoke execute on function drop_month(date, bytea) from public;
revoke execute on function grant_application(name) from public;
