-- Message templates, their versions, and the outbox of webhook messages.

create table template (
  id uuid primary key,
  account_id uuid not null references account,
  -- The carrier's or the sender's own identifier.
  external_id text,
  name text not null,
  channel text not null check (channel in ('email', 'sms', 'whatsapp', 'voice', 'letter')),
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

create table webhook_endpoint (
  id uuid primary key,
  account_id uuid not null references account,
  url text not null,
  payload_version text not null check (payload_version in ('v1', 'v2')),
  -- null: all of them.
  channels text[],
  statuses text[],
  -- Encrypted under the master key; the second one is valid while rotating.
  secret bytea not null,
  previous_secret bytea,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  disabled_reason text
);
create index webhook_endpoint_account on webhook_endpoint (account_id);

create table webhook_message (
  id uuid primary key,
  endpoint_id uuid not null references webhook_endpoint,
  notification_id uuid not null,
  channel text not null,
  -- The event tells all that the message says: it never changes, so neither does the message.
  event_seq integer not null,
  state text not null default 'queued' check (state in ('queued', 'done', 'dead')),
  attempt integer not null default 0,
  due_at timestamptz not null default now(),
  lease_until timestamptz,
  created_at timestamptz not null default now()
);
create index webhook_message_due on webhook_message (due_at) where state = 'queued';
create index webhook_message_order on webhook_message (endpoint_id, notification_id, channel, event_seq);
