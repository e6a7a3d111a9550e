-- Until when an endpoint asked to be left alone (Retry-After). Apart from the rest that its failures earn it: a request that was
-- under way and succeeds ends that one, but not what was asked for.
alter table webhook_endpoint add column asked_until timestamptz;
