-- What was asked for and what became of it.
--
-- notification, attachment, delivery and event are partitioned by month on the notification's UUIDv7, whose first
-- 48 bits are the millisecond of acceptance. They carry no foreign keys to each other: one statement writes them
-- together, and whole months are dropped together.

create sequence notification_code;

create table notification (
  id uuid primary key,
  code bigint not null default nextval('notification_code'),
  account_id uuid not null,
  mode text not null,
  accepted_at timestamptz not null,
  custom_id text,
  recipient_name text,
  recipient_email text,
  subject text,
  content text,
  -- {question, salt, hash}: the reply itself is never stored.
  validation jsonb
) partition by range (id);
create index notification_custom_id on notification (account_id, custom_id) where custom_id is not null;

create table blob (
  sha256 bytea primary key,
  size integer not null,
  bytes bytea not null,
  -- Renewed by every use, so that a sweep of unreferenced blobs never races with a send in progress.
  touched_at timestamptz not null default now()
);
-- Attachments are compressed formats nearly always: trying again costs CPU and saves nothing.
alter table blob alter column bytes set storage external;
create index blob_touched on blob (touched_at);

create table attachment (
  notification_id uuid not null,
  ordinal smallint not null,
  name text not null,
  sha256 bytea not null,
  size integer not null,
  primary key (notification_id, ordinal)
) partition by range (notification_id);
create index attachment_sha256 on attachment (sha256);

-- The row that answers the status lookup is the row that workers claim.
create table delivery (
  notification_id uuid not null,
  channel text not null check (channel in ('email', 'sms', 'whatsapp', 'voice', 'letter')),
  account_id uuid not null,
  mode text not null,
  -- waiting: for its condition until due_at; queued: from due_at on; sending: leased; uncertain: bytes left, no answer;
  -- done: nothing left to send; dead: gave up, a person may retry; cancelled: ended before it was sent.
  state text not null check (state in ('waiting', 'queued', 'sending', 'uncertain', 'done', 'dead', 'cancelled')),
  due_at timestamptz not null,
  -- Place in the order of this notification's channels, and the condition under which a later place is still needed.
  step smallint not null,
  condition text not null check (condition in ('always', 'failed', 'not delivered', 'not read', 'not confirmed')),
  lease_until timestamptz,
  lease_owner uuid,
  attempt integer not null default 0,
  provider text,
  reference text,
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
  primary key (notification_id, channel)
) partition by range (notification_id);
create index delivery_queued on delivery (channel, mode, account_id, due_at) where state = 'queued';
create index delivery_waiting on delivery (due_at) where state = 'waiting';
create index delivery_leased on delivery (lease_until) where state = 'sending';

-- Append only. hash = SHA-256 of the canonical JSON of {v, notification, seq, at, type, source, commit, prev};
-- commit = SHA-256(salt || canonical JSON of data), so that data and salt can be erased and the chain still verifies.
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
  primary key (notification_id, seq)
) partition by range (notification_id);

create table checkpoint (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  -- Events up to and including this hash count are covered by the Merkle root.
  size bigint not null,
  root bytea not null,
  signature bytea not null,
  timestamp_token bytea
);

create table link (
  code text primary key,
  notification_id uuid not null,
  channel text not null,
  created_at timestamptz not null default now(),
  unique (notification_id, channel)
);

create table suppression (
  account_id uuid not null references account,
  channel text not null,
  recipient text not null,
  reason text not null,
  notification_id uuid,
  created_at timestamptz not null default now(),
  primary key (account_id, channel, recipient)
);

create table idempotency (
  account_id uuid not null,
  key text not null,
  body_sha256 bytea not null,
  notification_id uuid not null,
  created_at timestamptz not null,
  primary key (account_id, key)
);
create index idempotency_created on idempotency (created_at);

-- Makes the month that holds the given moment, in every partitioned table. Safe to call again and from several nodes.
create function ensure_month(moment timestamptz) returns void language plpgsql as $$
declare
  month timestamp := date_trunc('month', moment at time zone 'UTC');
  low uuid := (lpad(to_hex((extract(epoch from month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  high uuid := (lpad(to_hex((extract(epoch from month + interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  parent text;
  child text;
begin
  foreach parent in array array['notification', 'attachment', 'delivery', 'event'] loop
    child := parent || to_char(month, '_YYYY_MM');
    if to_regclass(child) is null then
      -- Made beside and attached: attaching does not lock the parent against reads and writes, "partition of" does.
      execute format('create table %I (like %I including defaults including constraints)', child, parent);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, child, low, high);
    end if;
  end loop;
end $$;
