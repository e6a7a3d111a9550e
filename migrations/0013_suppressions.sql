-- Recipients are kept in lower case from now on; of two that differ in case alone the older reason stays.
insert into suppression (account_id, channel, recipient, reason, notification_id, created_at)
select account_id, channel, lower(recipient), reason, notification_id, created_at from suppression
where recipient <> lower(recipient) order by created_at
on conflict do nothing;

delete from suppression where recipient <> lower(recipient);
