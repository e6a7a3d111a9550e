-- The whole schema. Its parts: the installation and its accounts; budgets and locks; notifications and their record;
-- carriers; webhooks; templates; the recipient's pages; letters; calls; e-mail.
--
-- migrations/schema.sql shows the same schema as a migrated database has it.

-- The installation and its accounts -----------------------------------------------------------------------------------

create table installation (
  only_row boolean primary key default true check (only_row),
  key_fingerprint text not null,
  -- Raised by every administrative change. Nodes poll the revision and drop their cached accounts and tokens when it moves.
  revision bigint not null default 1,
  created_at timestamptz not null default now()
);

create table entity (
  id uuid primary key,
  name text not null unique,
  created_at timestamptz not null default now()
);

create table account (
  id uuid primary key,
  entity_id uuid not null references entity,
  name text not null unique,
  -- Only the settings that differ from the defaults of src/domain/account.ts.
  settings jsonb not null default '{}',
  sequence jsonb,
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
create index token_account on token (account_id);

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

create trigger account_changed after insert or update or delete on account for each statement execute function bump_revision();
create trigger token_changed after insert or update or delete on token for each statement execute function bump_revision();
create trigger address_range_changed after insert or update or delete on address_range for each statement execute function bump_revision();

-- The log of administrative actions. Operators read it; the program only writes it.
create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}'
);

-- Budgets and locks ---------------------------------------------------------------------------------------------------

-- One row per request budget: an account's tier, or an address that fails to authenticate. Nodes lease chunks of a budget.
create table rate_window (
  key text primary key,
  started_at timestamptz not null,
  used integer not null,
  -- The size of the latest chunk.
  granted integer not null
);

-- Wrong guesses at short link codes: one row per client address, and one row for all addresses together.
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

-- Notifications and their record --------------------------------------------------------------------------------------
--
-- notification, attachment, delivery and event are partitioned by month on the notification's UUIDv7: its first 48 bits
-- are the millisecond of acceptance. These tables have no foreign keys to each other: one statement writes them together,
-- and whole months are dropped together.

create sequence notification_code;

create table notification (
  id uuid primary key,
  code bigint not null default nextval('notification_code'),
  account_id uuid not null,
  mode text not null,
  accepted_at timestamptz not null,
  custom_id text,
  recipient_name text,
  subject text,
  content text,
  -- {question, salt, hash}. The expected reply itself is never stored.
  validation jsonb
) partition by range (id);
create index notification_custom_id on notification (account_id, custom_id) where custom_id is not null;

create table blob (
  sha256 bytea primary key,
  size integer not null,
  bytes bytea not null,
  -- Renewed by every use: the sweep of unused blobs must not delete a blob that a send in progress is about to refer to.
  touched_at timestamptz not null default now()
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
  -- The only carrier that may take the next attempt, because it may already have the message. null: any carrier of the channel.
  bound_carrier text,
  -- The carriers, by their place in the operator's list, that were tried in this round. On a queued delivery: set only
  -- while another carrier may take it before due_at.
  tried smallint[],
  -- How many attempts went to another carrier in place of one that failed. They do not count against the retry plan.
  failovers smallint not null default 0,

  recipient text,
  request jsonb not null,
  template_id uuid,
  template_version integer,

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
  cancel_reason text check (cancel_reason in ('not needed', 'finalized')),
  failure text,
  failure_detail text,
  answers jsonb,
  tracking_code text,
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
create index delivery_queued on delivery (channel, mode, account_id, due_at) where state = 'queued';
create index delivery_failover on delivery (channel, mode, due_at) where state = 'queued' and tried is not null;
create index delivery_bound on delivery (channel, mode, bound_carrier, due_at) where state = 'queued' and bound_carrier is not null;
-- Steps that a date decides on, and steps that only a failure releases.
create index delivery_waiting on delivery (due_at) where state = 'waiting' and condition <> 'failed';
create index delivery_waiting_failure on delivery (notification_id) where state = 'waiting' and condition = 'failed';
create index delivery_leased on delivery (lease_until) where state = 'sending';
create index delivery_uncertain on delivery (due_at) where state = 'uncertain';
-- By carrier: the unknown outcomes of a carrier that does not answer must not delay those of the others.
create index delivery_uncertain_carrier on delivery (channel, mode, carrier, due_at) where state = 'uncertain';
create index delivery_unresolved on delivery (notification_id) where state = 'unresolved';
create index delivery_dead on delivery (notification_id) where state = 'dead';
-- Finds the message that a recipient's reply belongs to, by the number (E.164). E-mail addresses cost the index nothing.
create index delivery_number on delivery (recipient, notification_id) where recipient like '+%';
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
  -- The notification that caused the suppression; null: an operator added it.
  notification_id uuid,
  created_at timestamptz not null default now(),
  primary key (account_id, mode, channel, recipient)
);

-- The history is append only, for every role: the program's own role may not even try (grant_application below).
create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% on % is refused: its rows are never changed', tg_op, tg_table_name using errcode = 'insufficient_privilege';
end $$;

create trigger notification_unchanged before update or delete on notification for each row execute function refuse_change();
create trigger attachment_unchanged before update or delete on attachment for each row execute function refuse_change();
create trigger audit_unchanged before update or delete on audit for each row execute function refuse_change();
create trigger event_undeleted before delete on event for each row execute function refuse_change();
-- The owner gives restored events ids of the new server: docs/adr/0014-commit-ordered-events.md.
create trigger event_unchanged before update on event for each row
  when ((old.notification_id, old.seq, old.at, old.type, old.source, old.data, old.salt, old.commit, old.prev, old.hash)
    is distinct from (new.notification_id, new.seq, new.at, new.type, new.source, new.data, new.salt, new.commit, new.prev, new.hash))
  execute function refuse_change();
-- Partitions inherit the triggers of rows. Triggers of statements they do not: ensure_month makes them.
create trigger notification_untruncated before truncate on notification for each statement execute function refuse_change();
create trigger attachment_untruncated before truncate on attachment for each statement execute function refuse_change();
create trigger audit_untruncated before truncate on audit for each statement execute function refuse_change();
create trigger event_untruncated before truncate on event for each statement execute function refuse_change();

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
  foreach parent in array array['notification', 'attachment', 'delivery', 'event'] loop
    child := parent || to_char(month, '_YYYY_MM');
    if to_regclass('public.' || child) is null then
      -- "partition of" would lock the parent against reads and writes; attaching a finished table does not.
      execute format('create table public.%I (like public.%I including defaults including constraints)', child, parent);
      if parent <> 'delivery' then
        execute format('create trigger %I before truncate on public.%I for each statement execute function refuse_change()',
          parent || '_untruncated', child);
      end if;
      execute format('alter table public.%I attach partition public.%I for values from (%L) to (%L)', parent, child, low, high);
    end if;
  end loop;
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
create index carrier_reference_created on carrier_reference using brin (created_at);

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
  -- While the endpoint fails, all of its messages wait until then.
  paused_until timestamptz,
  -- The wait that the endpoint asked for (Retry-After). A request in flight that succeeds ends paused_until, but not this.
  asked_until timestamptz,
  -- The latest visit of a listener.
  seen_at timestamptz,
  -- Deleted endpoints keep their row until their messages are deleted, in batches: there may be millions.
  deleted_at timestamptz
);
create index webhook_endpoint_account on webhook_endpoint (account_id, mode);

-- The outbox: the transaction that writes an event writes its messages.
create table webhook_message (
  id uuid primary key,
  endpoint_id uuid not null references webhook_endpoint,
  notification_id uuid not null,
  channel text not null,
  -- The payload is made from this event, which never changes.
  event_seq integer not null,
  -- queued: may be sent from due_at on. sending: under a lease. dead: attempts are used up. held: the endpoint was disabled
  -- when the event happened.
  state text not null default 'queued' check (state in ('queued', 'sending', 'done', 'dead', 'held')),
  attempt integer not null default 0,
  -- Attempts before the latest replay: a replay starts the retry plan again.
  earlier_attempts integer not null default 0,
  due_at timestamptz not null default now(),
  lease_until timestamptz,
  lease_owner uuid,
  created_at timestamptz not null default now(),
  queued_at timestamptz not null default now(),
  -- Assigned while the notification is locked: within one notification it has the order of the events.
  position bigint generated by default as identity
);
-- Partial: messages that are done cost the indexes of the queue nothing.
create index webhook_message_due on webhook_message (endpoint_id, due_at, position) where state = 'queued';
create index webhook_message_order on webhook_message (endpoint_id, notification_id, channel, event_seq)
  where state in ('queued', 'sending');
create index webhook_message_leased on webhook_message (lease_until) where state = 'sending';
create index webhook_message_history on webhook_message (endpoint_id, created_at);

-- The log of attempts. The request is not stored: it can be made again from the event and the attempt.
create table webhook_attempt (
  id bigint generated always as identity primary key,
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
  response_body text
);
create index webhook_attempt_endpoint on webhook_attempt (endpoint_id, id);
create index webhook_attempt_failed on webhook_attempt (endpoint_id, id) where error is not null;
create index webhook_attempt_message on webhook_attempt (message_id);
create index webhook_attempt_at on webhook_attempt using brin (at);

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
create index template_account on template (account_id, channel);

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

create table logo (
  account_id uuid primary key references account,
  sha256 bytea not null,
  type text not null,
  bytes bytea not null
);
create index logo_sha256 on logo (sha256);

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

-- When the postal service is asked for a letter's tracking history again, and how many entries of it were recorded.
create table letter_tracking (
  notification_id uuid primary key,
  due_at timestamptz not null,
  seen integer not null default 0
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
  execute format('revoke update, delete on notification, attachment, event, audit, template_version, letter, letter_receipt from %I',
    application);
  execute format('revoke insert, update, delete on migration from %I', application);
  execute format('revoke update, delete on installation from %I', application);
  execute format('grant update (revision) on installation to %I', application);
  execute format('revoke update on blob from %I', application);
  execute format('grant update (touched_at) on blob to %I', application);
  -- A lock on a row takes the right to update some column of it. The trigger refuses the update itself.
  execute format('grant update (code) on notification to %I', application);
  execute format('grant usage on all sequences in schema public to %I', application);
  execute format('grant select, update on sequence letter_lot_lot_seq to %I', application);
  execute format('grant execute on function ensure_month(timestamptz) to %I', application);
end $$;

revoke execute on function ensure_month(timestamptz) from public;
revoke execute on function grant_application(name) from public;
