-- Backtests: what was asked for, how far a worker has come, and what came of it.
CREATE TABLE backtest (
    id text COLLATE "C" CONSTRAINT backtest_pkey PRIMARY KEY,
    created_at bigint NOT NULL,
    is_over boolean NOT NULL,
    revision bigint NOT NULL,
    taken_by text COLLATE "C" NOT NULL DEFAULT '',
    taken_until timestamptz,
    body bytea NOT NULL,
    outcome bytea,
    progress bytea
);
CREATE INDEX backtest_created_at ON backtest (created_at, id);
