-- Recordings of calls: told by a carrier, fetched from it, kept as a blob.

create table recording (
  carrier text not null,
  -- The carrier's name for it.
  name text not null,
  notification_id uuid not null,
  ordinal smallint not null,
  -- wanted: to be fetched from due_at on; kept: its blob is here; missing: the carrier does not have it.
  state text not null default 'wanted' check (state in ('wanted', 'kept', 'missing')),
  due_at timestamptz not null default now(),
  attempt smallint not null default 0,
  seconds integer,
  sha256 bytea,
  created_at timestamptz not null default now(),
  primary key (carrier, name)
);
create index recording_wanted on recording (due_at) where state = 'wanted';
create index recording_notification on recording (notification_id);
create index recording_sha256 on recording (sha256) where sha256 is not null;
