-- The parts of people's long answers by SMS: each may come to another worker, and what was taken must survive it.

create table reply_part (
  carrier text not null,
  -- The name that the parts share.
  name text not null,
  total smallint not null,
  part smallint not null,
  reply jsonb not null,
  received_at timestamptz not null default now(),
  primary key (carrier, name, total, part)
);
