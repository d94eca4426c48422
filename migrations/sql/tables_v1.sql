-- The log, what guards it, and the read models written with it.
-- What is only read back whole is json: it is smaller than jsonb and is written and read faster.
-- Names that are compared or paged by have the collation "C", so that every database sorts them alike.

CREATE TABLE log_head (
    id boolean CONSTRAINT log_head_pkey PRIMARY KEY DEFAULT true CHECK (id),
    log_id uuid NOT NULL DEFAULT gen_random_uuid(),
    position bigint NOT NULL DEFAULT 0,
    config_position bigint NOT NULL DEFAULT 0,
    reshaped_position bigint NOT NULL DEFAULT -1
) WITH (fillfactor = 10);
INSERT INTO log_head DEFAULT VALUES;

CREATE TABLE event (
    position bigint NOT NULL,
    stream text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    type text COLLATE "C" NOT NULL,
    schema_version smallint NOT NULL,
    data json NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    causation text NOT NULL,
    correlation text NOT NULL,
    trace text NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT event_pkey PRIMARY KEY (position)
) PARTITION BY RANGE (position);
CREATE INDEX event_stream ON event (stream, version);
CREATE INDEX event_type ON event (type, position);
CREATE INDEX event_correlation ON event (correlation) WHERE correlation <> '';
CREATE INDEX event_at ON event USING brin (at);

CREATE TABLE stream (
    name text COLLATE "C" CONSTRAINT stream_pkey PRIMARY KEY,
    version integer NOT NULL,
    position bigint NOT NULL
) WITH (fillfactor = 70);

CREATE TABLE idempotency (
    key text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    request_hash text NOT NULL,
    status integer NOT NULL,
    answer bytea NOT NULL,
    position bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT idempotency_pkey PRIMARY KEY (key, actor)
);
CREATE INDEX idempotency_created_at ON idempotency USING brin (created_at);

CREATE TABLE partition (
    key text COLLATE "C" CONSTRAINT partition_pkey PRIMARY KEY,
    last_position bigint NOT NULL,
    idle_position bigint NOT NULL DEFAULT -1,
    guard bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0,
    owner text NOT NULL DEFAULT '',
    next_due bigint,
    failures integer NOT NULL DEFAULT 0,
    failure text NOT NULL DEFAULT '',
    halted_position bigint,
    retry_at bigint
) WITH (fillfactor = 20);
INSERT INTO partition (key, last_position) VALUES ('installation', 0);

CREATE TABLE object (
    stream text COLLATE "C" CONSTRAINT object_pkey PRIMARY KEY,
    version integer NOT NULL,
    position bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    uid text NOT NULL,
    cluster_queue text COLLATE "C" NOT NULL,
    labels jsonb NOT NULL,
    due_at bigint,
    state json NOT NULL
);
CREATE INDEX object_kind ON object (kind, stream);
CREATE INDEX object_cluster_queue ON object (cluster_queue) WHERE cluster_queue <> '';

CREATE TABLE workload (
    stream text COLLATE "C" CONSTRAINT workload_pkey PRIMARY KEY,
    version integer NOT NULL,
    position bigint NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    uid text NOT NULL,
    local_queue text COLLATE "C" NOT NULL,
    cluster_queue text COLLATE "C" NOT NULL,
    phase text COLLATE "C" NOT NULL,
    priority bigint NOT NULL,
    created_at bigint NOT NULL,
    labels jsonb NOT NULL,
    due_at bigint,
    state json NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX workload_created_at ON workload (created_at, stream);
CREATE INDEX workload_namespace ON workload (namespace, created_at, stream);
CREATE INDEX workload_phase ON workload (phase, created_at, stream);

CREATE TABLE round (
    stream text COLLATE "C" CONSTRAINT round_pkey PRIMARY KEY,
    version integer NOT NULL,
    position bigint NOT NULL,
    stage text COLLATE "C" NOT NULL,
    preemptor text COLLATE "C" NOT NULL,
    cluster_queue text COLLATE "C" NOT NULL,
    committed_at bigint NOT NULL,
    due_at bigint,
    state json NOT NULL
);
CREATE INDEX round_committed_at ON round (committed_at, stream);
CREATE INDEX round_preemptor ON round (preemptor, committed_at);

CREATE TABLE round_victim (
    stream text COLLATE "C" NOT NULL,
    workload text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    position bigint NOT NULL,
    cluster_queue text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    released boolean NOT NULL,
    CONSTRAINT round_victim_pkey PRIMARY KEY (stream, workload)
);
CREATE INDEX round_victim_workload ON round_victim (workload);
CREATE INDEX round_victim_cluster_queue ON round_victim (cluster_queue);

CREATE TABLE token (
    name text COLLATE "C" CONSTRAINT token_pkey PRIMARY KEY,
    digest text NOT NULL CONSTRAINT token_digest_key UNIQUE,
    role text NOT NULL,
    namespaces jsonb NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint
);

CREATE TABLE state_cache (
    name text COLLATE "C" NOT NULL,
    fold_version text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    sha256 bytea NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT state_cache_pkey PRIMARY KEY (name, fold_version, position)
);
ALTER TABLE state_cache ALTER COLUMN body SET STORAGE EXTERNAL;

-- Followed read models. Rows of a rebuild are written under the next generation, beside the live one;
-- `generation` of the follower says which one is read.
CREATE TABLE follower (
    name text COLLATE "C" CONSTRAINT follower_pkey PRIMARY KEY,
    generation integer NOT NULL DEFAULT 1,
    position bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 20);

CREATE TABLE follower_memory (
    follower text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    CONSTRAINT follower_memory_pkey PRIMARY KEY (follower, generation, key)
);

CREATE TABLE preemption_ledger (
    generation integer NOT NULL,
    round_id text COLLATE "C" NOT NULL,
    victim text COLLATE "C" NOT NULL,
    preemptor text COLLATE "C" NOT NULL,
    preemptor_priority bigint NOT NULL,
    preemptor_queue text COLLATE "C" NOT NULL,
    victim_queue text COLLATE "C" NOT NULL,
    rule text NOT NULL,
    victim_priority bigint NOT NULL,
    pods bigint NOT NULL,
    freed jsonb NOT NULL,
    running_seconds bigint NOT NULL,
    lost jsonb NOT NULL,
    considered bigint NOT NULL,
    committed_at bigint NOT NULL,
    released_at bigint,
    released_by text NOT NULL,
    ended_at bigint,
    outcome text NOT NULL,
    CONSTRAINT preemption_ledger_pkey PRIMARY KEY (generation, round_id, victim)
);
CREATE INDEX preemption_ledger_committed_at
    ON preemption_ledger (generation, committed_at, round_id, victim);
CREATE INDEX preemption_ledger_preemptor ON preemption_ledger (preemptor);
CREATE INDEX preemption_ledger_victim ON preemption_ledger (victim);

CREATE TABLE queue_history (
    generation integer NOT NULL,
    cluster_queue text COLLATE "C" NOT NULL,
    minute bigint NOT NULL,
    submitted bigint NOT NULL DEFAULT 0,
    admitted bigint NOT NULL DEFAULT 0,
    evicted bigint NOT NULL DEFAULT 0,
    finished bigint NOT NULL DEFAULT 0,
    CONSTRAINT queue_history_pkey PRIMARY KEY (generation, cluster_queue, minute)
);
CREATE INDEX queue_history_minute ON queue_history (generation, minute);
