-- What one carrier could not take goes to the next one at once.

alter table delivery
  -- The carriers, by their place in the operator's list, that this round of tries has come to. In the queue: only while
  -- another one may stand in before due_at.
  add column tried smallint[],
  -- How many of the attempts stood in for a carrier that failed: they use up nothing of the plan.
  add column detours smallint not null default 0;
create index delivery_detour on delivery (channel, mode, due_at) where state = 'queued' and tried is not null;

-- How far each carrier that has a rate is booked out, for all nodes together. Not worth a log: at worst one burst is given twice.
create unlogged table carrier_pace (
  carrier text primary key,
  spent_until timestamptz not null,
  -- What the latest asker was given.
  granted integer not null
);
