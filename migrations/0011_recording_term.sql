-- Recordings whose term is over: their bytes are gone, the digest stays as evidence.

alter table recording drop constraint recording_state_check;
alter table recording
  -- expired: its blob was here until its term was over.
  add constraint recording_state_check check (state in ('wanted', 'kept', 'missing', 'expired'));
create index recording_kept on recording (created_at) where state = 'kept';
