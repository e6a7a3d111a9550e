-- What carriers call the messages that they took, and what they say of them later.

alter table delivery
  -- Which of several messages to the same recipient this is; part of the reference. Raised only once the one before has ended.
  add column ordinal smallint not null default 1,
  -- How often nobody knew whether it was sent.
  add column doubts smallint not null default 0,
  -- The delivered ones, of a message that travels in several.
  add column parts jsonb;
create index delivery_uncertain on delivery (due_at) where state = 'uncertain';
-- Finds what somebody answers to.
create index delivery_phone on delivery (recipient, notification_id) where channel in ('sms', 'whatsapp');

create table carrier_reference (
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

-- Reports that overtook our own commit: kept until we know what they are about.
create table early_report (
  id bigint generated always as identity primary key,
  carrier text not null,
  names text[] not null,
  report jsonb not null,
  received_at timestamptz not null default now()
);

-- What gave up waits for a person.
create index delivery_dead on delivery (notification_id) where state = 'dead';
