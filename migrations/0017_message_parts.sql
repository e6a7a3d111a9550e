-- Of a message in several parts whose send nobody can vouch for as a whole: {by, parts, total}, the parts that are known to be
-- with the carrier. Only the others are sent again.
alter table delivery add column taken jsonb;

-- Parts of answers that were told as a whole stay for a while: one that the carrier sends again must not pass for a torn answer.
alter table reply_part add column joined boolean not null default false;
