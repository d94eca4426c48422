-- The version of a workload stands in its row, and in `stream_version` while it has none.

ALTER TABLE stream RENAME TO stream_before;
ALTER TABLE stream_before RENAME CONSTRAINT stream_pkey TO stream_before_pkey;
CREATE TABLE stream_version (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    position bigint NOT NULL
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02);
-- Events that were appended without a row are later than what the row shows.
UPDATE workload SET version = known.version, position = known.position
FROM stream_before AS known
WHERE known.name = workload.stream AND known.version > workload.version;
INSERT INTO stream_version (name, version, position)
SELECT name, version, position FROM stream_before AS known
WHERE NOT EXISTS (SELECT FROM workload WHERE workload.stream = known.name)
ORDER BY name;
ALTER TABLE stream_version ADD CONSTRAINT stream_version_pkey PRIMARY KEY (name);
DROP TABLE stream_before;

-- Every stream once; a stream of a workload stands in one of both tables.
CREATE VIEW stream AS
    SELECT name, version, position FROM stream_version
    UNION ALL
    SELECT stream, version, position FROM workload;

-- Notes the versions that streams have after a run, when its rows are written.
CREATE FUNCTION log_write_versions(units jsonb, first bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH touched AS MATERIALIZED (
        SELECT t.stream, t.version, first[u.unit] + t.nth AS position, w.version AS shown
        FROM jsonb_to_recordset(units) AS u(unit integer, touched jsonb)
            CROSS JOIN jsonb_to_recordset(u.touched) AS t(stream text, version integer, nth integer)
            LEFT JOIN workload AS w ON w.stream = t.stream
        WHERE first[u.unit] > 0
    ), without_row_before AS (
        DELETE FROM stream_version USING touched
        WHERE touched.shown IS NOT NULL AND stream_version.name = touched.stream
    ), without_row_now AS (
        UPDATE workload SET version = touched.version, position = touched.position
        FROM touched
        WHERE touched.shown < touched.version AND workload.stream = touched.stream
    )
    INSERT INTO stream_version AS known (name, version, position)
    SELECT stream, version, position FROM touched WHERE shown IS NULL
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, position = excluded.position;
END
$$;

-- Writes the events and keys of the units that have a first position;
-- the position of the last event that configures, or null.
CREATE OR REPLACE FUNCTION log_write_events(
    units jsonb, bodies bytea, stored bytea, first bigint[]
) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (position, at, version, schema_version, type, stream,
                       actor, reason, causation, correlation, trace, body)
    SELECT first[u.unit] + e.nth, u.at, e.version, e.schema_version, e.type, e.stream, u.actor,
           coalesce(u.reason, ''), coalesce(u.causation, ''), coalesce(u.correlation, ''),
           coalesce(u.trace, ''), substr(stored, e.kept, e.kept_length)
    FROM jsonb_to_recordset(units) AS u(unit integer, at bigint, actor text, reason text,
            causation text, correlation text, trace text, events jsonb),
        jsonb_to_recordset(u.events) AS e(nth integer, stream text, version integer, type text,
            schema_version smallint, kept integer, kept_length integer)
    WHERE first[u.unit] > 0
    ORDER BY 1;

    INSERT INTO idempotency (key, actor, request_hash, status, answer, position)
    SELECT u.key, u.key_actor, u.request_hash, u.status, substr(bodies, u.body, u.length),
           first[u.unit] + u.size - 1
    FROM jsonb_to_recordset(units) AS u(unit integer, size integer, key text, key_actor text,
        request_hash text, status integer, body integer, length integer)
    WHERE first[u.unit] > 0 AND u.key IS NOT NULL;

    RETURN (
        SELECT max(first[u.unit] + u.configures)
        FROM jsonb_to_recordset(units) AS u(unit integer, configures integer)
        WHERE first[u.unit] > 0);
END
$$;

-- As before, and it notes versions when rows are written.
CREATE OR REPLACE FUNCTION log_append(
    runs jsonb, bodies bytea, points jsonb, stored bytea, with_dictionary integer
) RETURNS jsonb LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    head log_head;
    before bigint;
    run jsonb;
    gone integer[] := '{}';
    refusals jsonb[];
    first bigint[];
    verdicts jsonb[] := '{}';
    chain bytea;
    chained bytea := '';
BEGIN
    SELECT * INTO head FROM log_head FOR NO KEY UPDATE;
    IF with_dictionary IS NOT NULL
        AND NOT EXISTS (SELECT FROM dictionary WHERE id = with_dictionary)
    THEN
        RAISE EXCEPTION 'this database has no dictionary %', with_dictionary
            USING ERRCODE = 'serialization_failure';
    END IF;
    before := head.position;
    SELECT substr(c.chain, length(c.chain) - 31) INTO chain
    FROM log_chain AS c ORDER BY c.position DESC LIMIT 1;
    IF points <> '[]' THEN
        gone := log_gone_points(points);
    END IF;
    FOR run IN SELECT jsonb_array_elements(runs) LOOP
        refusals := log_judge(run->'units', head.config_position);
        IF cardinality(gone) > 0 THEN
            SELECT array_agg(CASE WHEN u.past = ANY (gone) THEN '{"verdict": "past_gone"}'
                             ELSE refusals[u.number] END ORDER BY u.number)
            INTO refusals
            FROM ROWS FROM (jsonb_to_recordset(run->'units') AS (past integer))
                WITH ORDINALITY AS u(past, number);
        END IF;
        SELECT array_agg(CASE WHEN refusals[u.number] IS NULL THEN head.position + 1 + u.earlier
                         ELSE 0 END ORDER BY u.number),
               array_agg(coalesce(refusals[u.number], jsonb_build_object(
                   'verdict', 'appended', 'first', head.position + 1 + u.earlier,
                   'last', head.position + u.earlier + u.size)) ORDER BY u.number),
               head.position + coalesce(sum(u.size) FILTER (WHERE refusals[u.number] IS NULL), 0)
        INTO first, refusals, head.position
        FROM (
            SELECT number, size,
                   coalesce(sum(size) FILTER (WHERE refusals[number] IS NULL) OVER (
                       ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
                       AS earlier
            FROM ROWS FROM (jsonb_to_recordset(run->'units') AS (size bigint))
                WITH ORDINALITY AS sized(size, number)
        ) AS u;
        verdicts := verdicts || refusals;
        IF 0 < ANY (first) THEN
            head.config_position := greatest(
                head.config_position, log_write_events(run->'units', bodies, stored, first));
            chained := chained || log_chain_run(run->'units', bodies, first, chain);
            chain := substr(chained, length(chained) - 31);
            PERFORM log_wake(run->'units', first);
            PERFORM log_write_rows(run, stored, first);
            PERFORM log_write_versions(run->'units', first);
        END IF;
    END LOOP;
    IF head.position > before THEN
        INSERT INTO log_chain (position, first, chain) VALUES (head.position, before + 1, chained);
        UPDATE log_head SET position = head.position, config_position = head.config_position;
        IF head.position / 500000 <> before / 500000 THEN
            PERFORM extend_log(head.position + 1000000);
        END IF;
        PERFORM pg_notify('headgate_log', head.position::text);
    END IF;
    RETURN to_jsonb(verdicts);
END
$$;

