-- Of a message in several parts whose send nobody can vouch for as a whole: {by, parts, total}, the parts that are known to be
-- with the carrier. Only the others are sent again.
alter table delivery add column taken jsonb;
