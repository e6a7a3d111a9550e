-- A lot is made and put into the post's folder once, by whoever gave its letters their places. Before the file gets its name, it is
-- written down under which other name it lies and what it holds: whoever comes later can tell whether it left.
alter table letter_lot
  add column begun_at timestamptz,
  -- The file's name until then; null: not known.
  add column part text,
  add column size bigint,
  add column sha256 bytea;

-- Lots of earlier versions may have left without a word about it: nothing may put them there again.
update letter_lot set begun_at = created_at;

-- A lot is never made again: what it holds need not be kept.
alter table letter_lot_object drop column line, drop column sha256;
