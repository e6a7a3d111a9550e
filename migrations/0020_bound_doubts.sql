-- A send of which nobody knows whether it happened is repeated by its own carrier alone.
alter table delivery
  -- The carrier that may have it already; null: any of the channel's may take it.
  add column bound_to text;
update delivery set bound_to = provider where doubts > 0 and (state = 'queued' or state = 'sending' or state = 'uncertain');
create index delivery_bound on delivery (channel, mode, bound_to, due_at) where state = 'queued' and bound_to is not null;

-- Each carrier's doubts are looked at on their own: those of a silent one must not stand before the others'.
create index delivery_doubt on delivery (channel, mode, provider, due_at) where state = 'uncertain';
