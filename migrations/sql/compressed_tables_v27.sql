-- The log with compressed bodies and states, and narrower rows. A body or state is JSON, or three bytes of the id of a
-- dictionary and a zstd frame without its magic number (adapters/postgres/append_encoding.py).

-- What bodies cannot be read without; never deleted.
CREATE TABLE dictionary (
    id integer CONSTRAINT dictionary_pkey PRIMARY KEY,
    body bytea NOT NULL,
    position bigint NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
SELECT protect_from_change('dictionary');

CREATE TABLE event (
    position bigint NOT NULL,
    at bigint NOT NULL,
    version integer NOT NULL,
    schema_version smallint NOT NULL,
    type text COLLATE "C" NOT NULL,
    stream text COLLATE "C" NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    causation text NOT NULL,
    correlation text NOT NULL,
    trace text NOT NULL,
    body bytea NOT NULL,
    CONSTRAINT event_pkey PRIMARY KEY (position)
) PARTITION BY RANGE (position);
CREATE INDEX event_stream ON event (stream, version);
-- Leads to events of rare types: a range of pages tells only which types it holds.
CREATE INDEX event_type ON event
    USING brin (type text_bloom_ops (n_distinct_per_range = 64)) WITH (autosummarize = on);
CREATE INDEX event_correlation ON event (correlation) WHERE correlation <> '';
CREATE INDEX event_at ON event USING brin (at);
SELECT protect_from_change('event');

CREATE TABLE event_archive (LIKE event INCLUDING ALL) PARTITION BY RANGE (position);
SELECT protect_from_change('event_archive');

-- The log from its beginning, wherever its parts stand.
CREATE VIEW event_whole AS
    SELECT * FROM event_archive
    UNION ALL
    SELECT * FROM event;

-- Indexes of instants leave ties to be sorted: a stream in each of them would double its size.
CREATE TABLE workload (
    position bigint NOT NULL,
    created_at bigint NOT NULL,
    priority bigint NOT NULL,
    gpus bigint NOT NULL DEFAULT 0,
    pods bigint NOT NULL DEFAULT 0,
    executed_seconds bigint NOT NULL DEFAULT 0,
    due_at bigint,
    admitted_at bigint,
    finished_at bigint,
    stuck_since bigint,
    reserved_at bigint,
    version integer NOT NULL,
    stream text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    local_queue text COLLATE "C" NOT NULL,
    cluster_queue text COLLATE "C" NOT NULL,
    phase text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL DEFAULT '',
    stuck_cause text COLLATE "C" NOT NULL DEFAULT '',
    size_class text COLLATE "C" NOT NULL DEFAULT '',
    labels jsonb NOT NULL,
    state bytea NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE TABLE follower_memory (
    follower text COLLATE "C" NOT NULL,
    generation integer NOT NULL,
    key text COLLATE "C" NOT NULL,
    value bytea NOT NULL
);
