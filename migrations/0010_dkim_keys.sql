-- DKIM keys: one or more per sending domain, the newest activated one signs.

create table dkim_key (
  -- Nodes know a key by this: another one under the same selector is another key.
  id bigint generated always as identity primary key,
  -- Both as in DNS: lower case, ASCII.
  domain text not null check (domain = lower(domain)),
  selector text not null check (selector = lower(selector)),
  algorithm text not null check (algorithm in ('rsa', 'ed25519')),
  -- PKCS#8 in PEM, sealed with its domain and selector as context.
  private_key bytea not null,
  created_at timestamptz not null default now(),
  -- null: its DNS record is not known to be published, so nothing is signed with it.
  activated_at timestamptz,
  unique (domain, selector)
);
