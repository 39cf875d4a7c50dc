/**
 * The public API: what happened in Sessions, numbered within each tree; answers to questions; API keys; and indexes for
 * its lists.
 * `event_seq` of a root is the last number that its tree has given out: numbers of dropped rows never come again.
 */
export const migration002 = `
alter table sessions add column event_seq bigint not null default 0;

create table events (
  root_id text not null,
  sequence bigint not null,
  session_id text not null,
  output_of text,
  body text not null,
  created_at bigint not null,
  primary key (root_id, sequence)
);
create index events_by_session on events (session_id, sequence);
create index events_with_output on events (output_of) where output_of is not null;
create table output_sizes (turn_id text primary key, bytes bigint not null);

alter table questions add column answer text;
alter table questions add column answer_seq bigint;
create index questions_answered on questions (turn_id, answer_seq) where answer_seq is not null;

create table api_keys (
  id text primary key,
  environment text not null,
  name text not null,
  digest text not null,
  permissions text not null,
  created_at bigint not null,
  last_used_at bigint,
  revoked_at bigint
);

create index deployments_by_environment on deployments (environment, id);
create index computers_by_id_in_environment on computers (environment, id);
create unique index computers_by_key on computers (environment, key) where key is not null and status <> 'deleted';
create index sessions_by_environment on sessions (environment, id);
create index sessions_by_root on sessions (root_id, id);
create index sessions_by_computer on sessions (computer_id, id);
`
