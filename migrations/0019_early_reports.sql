-- Most reports that nobody can place never will be: they speak of what others send under the same account. So each is looked at a
-- few times, after growing waits, and again when a name or a doubt is written down that it may speak of.
alter table early_report
  add column due_at timestamptz not null default now(),
  add column probes smallint not null default 0;
create index early_report_due on early_report (due_at, id);
-- Written at once: a list of what is still to be sorted in would be read whole at every send.
create index early_report_names on early_report using gin (names) with (fastupdate = off);
create index early_report_marked on early_report ((report #>> '{of,mark,recipient}')) where (report #>> '{of,mark,recipient}') is not null;
