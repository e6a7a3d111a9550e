-- An attempt with unknown outcome that only a person can settle has a state of its own, and time does not decide on steps that
-- only a failure releases.
alter table delivery drop constraint delivery_state_check;
alter table delivery add constraint delivery_state_check
  check (state in ('waiting', 'queued', 'sending', 'uncertain', 'unresolved', 'done', 'dead', 'cancelled'));
drop index delivery_waiting;
create index delivery_waiting on delivery (due_at) where state = 'waiting' and condition <> 'failed';
create index delivery_waiting_failure on delivery (notification_id) where state = 'waiting' and condition = 'failed';
create index delivery_unresolved on delivery (notification_id) where state = 'unresolved';
