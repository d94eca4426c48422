-- What workers planned: for people, to look at and to run again. Nothing is decided by it.
CREATE TABLE cycle_record (
    id text COLLATE "C" CONSTRAINT cycle_record_pkey PRIMARY KEY,
    partition text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    input_position bigint NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX cycle_record_at ON cycle_record (at, id);
