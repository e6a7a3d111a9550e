-- Who may send: entities, accounts, tokens and registered addresses.

create table installation (
  only_row boolean primary key default true check (only_row),
  key_fingerprint text not null,
  -- Bumped by every administrative change; nodes poll it to drop what they remember of accounts and tokens.
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
  -- Only what differs from the defaults of src/domain/account.ts.
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

-- One row per budget (an account's tier, or an address that fails to authenticate). Nodes lease chunks of it.
create table rate_window (
  key text primary key,
  started_at timestamptz not null,
  used integer not null,
  -- What the latest lease was given.
  granted integer not null
);

create table operator (
  id uuid primary key,
  name text not null,
  email text not null unique,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);

-- What administrators did, by command or console.
create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}'
);
