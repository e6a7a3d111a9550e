-- The recipient's side: guesses at short links, tries at a question, what a chain holds of accesses, and accounts' logos.

-- Wrong guesses at short codes: a row per client address, and one for all of them.
create table guess_window (
  key text primary key,
  started_at timestamptz not null,
  wrong integer not null,
  locked_until timestamptz
);

-- One row per notification that somebody visited or tried to answer.
create table visit_count (
  notification_id uuid primary key,
  -- Accesses that the chain holds as notes.
  noted integer not null default 0,
  -- Replies since the last correct one or the last lock; counted before they are looked at.
  tries integer not null default 0,
  tried_at timestamptz,
  -- Locks in a row: each lasts longer.
  locks integer not null default 0,
  locked_until timestamptz
);

create table logo (
  account_id uuid primary key references account,
  sha256 bytea not null,
  type text not null,
  bytes bytea not null,
  created_at timestamptz not null default now()
);
create index logo_sha256 on logo (sha256);
