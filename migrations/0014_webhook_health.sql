-- Days of failures are told from a failure, days of quiet and one more failure; the log of attempts is searched without walking it.

-- When it last failed: what lies further back than any wait between two tries says nothing about the endpoint today.
alter table webhook_endpoint add column failed_at timestamptz;

-- Few of the attempts fail: the others cost this index nothing.
create index webhook_attempt_failed on webhook_attempt (endpoint_id, id) where error is not null;
create index webhook_attempt_message on webhook_attempt (message_id);
