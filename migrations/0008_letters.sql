-- Letters as they were printed, where they are in the post, and the lots in which they went to it.

-- Made once, before anything is handed over: every later try prints the same bytes.
create table letter (
  notification_id uuid not null,
  ordinal smallint not null,
  -- Of the PDF, a blob.
  sha256 bytea not null,
  pages smallint not null,
  -- What is printed, as data: the receipt shows it again.
  sheet jsonb not null,
  made_at timestamptz not null default now(),
  primary key (notification_id, ordinal)
);
create index letter_sha256 on letter (sha256);

-- The signed receipt of delivery, as the post sent it.
create table letter_receipt (
  notification_id uuid primary key,
  type text not null check (type in ('png', 'jpg')),
  bytes bytea not null,
  received_at timestamptz not null default now()
);

-- When the post is asked again where a letter is, and how many of its words were taken.
create table letter_tracking (
  notification_id uuid primary key,
  due_at timestamptz not null,
  seen integer not null default 0
);
create index delivery_tracked on delivery (notification_id)
  where channel = 'letter' and tracking_code is not null and delivered_at is null and failure is null;

-- A file to the post holds a lot of letters. Which letter is in which lot is settled before the file is made, so that whoever
-- makes it again makes the same one.
create table letter_lot (
  lot bigint generated always as identity primary key,
  carrier text not null,
  created_at timestamptz not null default now(),
  uploaded_at timestamptz
);
create table letter_lot_object (
  reference text primary key,
  lot bigint not null references letter_lot,
  object integer not null,
  -- The line of the file; nothing once the file is with the post.
  line jsonb,
  sha256 bytea not null,
  unique (lot, object)
);
