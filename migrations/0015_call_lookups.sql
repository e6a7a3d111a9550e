-- Calls whose end may never be told to us: the carrier is asked about them until it is known.

create table call_lookup (
  carrier text not null,
  -- The carrier's name for the call.
  name text not null,
  notification_id uuid not null,
  ordinal smallint not null,
  -- Most calls are over, and told of, by then.
  due_at timestamptz not null default now() + interval '5 minutes',
  attempt smallint not null default 0,
  created_at timestamptz not null default now(),
  primary key (carrier, name)
);
create index call_lookup_due on call_lookup (due_at);

insert into call_lookup (carrier, name, notification_id, ordinal)
select carrier, reference, notification_id, ordinal from carrier_reference
where channel = 'voice' and created_at > now() - interval '1 day';
