/**
 * First layout. Column types and constraints are those that SQLite and PostgreSQL share; times are milliseconds,
 * flags are 0 or 1, JSON is text.
 */
export const migration001 = `
create table secrets (name text primary key, value text not null);

create table deployments (
  id text primary key,
  environment text not null,
  manifest text not null,
  created_at bigint not null
);
create table environments (
  key text primary key,
  current_deployment_id text not null references deployments (id)
);

create table computers (
  id text primary key,
  environment text not null,
  deployment_id text not null references deployments (id),
  template text not null,
  key text,
  status text not null,
  residency text not null,
  desired text not null,
  error text,
  delete_after_unused_ms bigint,
  unused_since bigint,
  delete_due bigint,
  wanted_since bigint,
  parkable_since bigint,
  epoch bigint not null,
  lease_until bigint,
  store_id text,
  boot_id text,
  attached integer not null,
  command_seq bigint not null,
  command_ack bigint not null,
  created_at bigint not null,
  updated_at bigint not null
);
create index computers_by_environment on computers (environment, status);
create index computers_by_delete_due on computers (delete_due) where delete_due is not null;
create index computers_waiting on computers (environment, wanted_since) where wanted_since is not null;
create index computers_desired on computers (environment, desired, residency);

create table credentials (
  computer_id text primary key,
  digest text not null unique
);
create table event_cursors (
  computer_id text not null,
  store_id text not null,
  received bigint not null,
  primary key (computer_id, store_id)
);
create table commands (
  computer_id text not null,
  seq bigint not null,
  body text not null,
  primary key (computer_id, seq)
);

create table sessions (
  id text primary key,
  environment text not null,
  key text,
  deployment_id text not null references deployments (id),
  agent text not null,
  template text not null,
  computer_id text not null references computers (id),
  role text not null,
  root_id text not null,
  parent_id text,
  requester_id text,
  depth integer not null,
  status text not null,
  closing text not null,
  close_after_idle_ms bigint,
  idle_since bigint,
  idle_due bigint,
  initial_turn_id text,
  last_sequence bigint not null,
  generation bigint not null,
  process text not null,
  losses integer not null,
  loss_reason text,
  created_at bigint not null,
  closed_at bigint,
  receipts_pruned integer not null default 0
);
create unique index sessions_by_key on sessions (environment, key) where key is not null and status <> 'closed';
create index sessions_by_parent on sessions (parent_id, id) where parent_id is not null;
create index sessions_open_by_parent on sessions (parent_id, id) where parent_id is not null and status <> 'closed';
create index sessions_by_requester on sessions (requester_id, id) where requester_id is not null;
create index sessions_open_by_computer on sessions (computer_id, id) where status <> 'closed';
create index sessions_by_idle_due on sessions (idle_due) where idle_due is not null;
create index sessions_to_prune on sessions (closed_at) where closed_at is not null and receipts_pruned = 0;

create table turns (
  id text primary key,
  session_id text not null references sessions (id),
  sequence bigint not null,
  status text not null,
  dispatched integer not null,
  stop text,
  requester_id text,
  origin_turn_id text,
  created_at bigint not null,
  started_at bigint,
  settled_at bigint,
  error_code text,
  error_message text,
  payload_expired_at bigint,
  result text,
  response text,
  unique (session_id, sequence)
);
create index turns_unsettled on turns (session_id, sequence) where settled_at is null;
create index turns_by_requester on turns (requester_id, session_id) where requester_id is not null;
create index turns_to_expire on turns (settled_at) where settled_at is not null and payload_expired_at is null;

create table inputs (turn_id text primary key, content text not null);

create table holds (
  id text primary key,
  session_id text not null references sessions (id),
  kind text not null,
  placed_by text,
  gap_reason text,
  gap_turn_id text,
  gap_generation bigint,
  created_at bigint not null,
  released_at bigint
);
create index holds_in_force on holds (session_id, id) where released_at is null;

create table messages (
  id text primary key,
  session_id text not null,
  turn_id text not null references turns (id),
  content text not null,
  command_seq bigint not null,
  created_at bigint not null
);
create index messages_by_turn on messages (turn_id, command_seq);

create table questions (
  id text primary key,
  session_id text not null references sessions (id),
  turn_id text not null,
  request_id text not null,
  content text not null,
  status text not null,
  created_at bigint not null
);
create index questions_open on questions (session_id, id) where status = 'open';

create table receipts (
  caller text not null,
  key text not null,
  tool text not null,
  fingerprint text not null,
  answer text not null,
  created_at bigint not null,
  expires_at bigint,
  primary key (caller, key)
);
create index receipts_to_expire on receipts (expires_at) where expires_at is not null;
`
