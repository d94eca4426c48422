-- The hash chain of the log: one row for each append, with the chain value of each of its events.
-- A chain value is the SHA-256 of the value before and of what the event is, so that two logs with
-- equal values at a position are equal up to there. The definition in Python is event_log/chain.py.
CREATE TABLE log_chain (
    position bigint CONSTRAINT log_chain_pkey PRIMARY KEY,
    first bigint NOT NULL,
    chain bytea NOT NULL
);
-- Hashes cannot be compressed.
ALTER TABLE log_chain ALTER COLUMN chain SET STORAGE EXTERNAL;
SELECT protect_from_change('log_chain');

-- The chain value at a position; null where the log has none.
CREATE FUNCTION log_chain_at(wanted bigint) RETURNS bytea LANGUAGE sql STABLE STRICT AS $$
    SELECT substr(batch.chain, (32 * (wanted - batch.first) + 1)::integer, 32)
    FROM (SELECT * FROM log_chain WHERE position >= wanted ORDER BY position LIMIT 1) AS batch
    WHERE batch.first <= wanted
$$;

-- What the chain value of an event covers besides the value before it.
CREATE FUNCTION event_link(
    at_position bigint, version integer, schema_version smallint, stream text, type text, body bytea
) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT int8send(at_position) || int4send(version) || int2send(schema_version)
        || int4send(octet_length(stream)) || convert_to(stream, 'UTF8')
        || int4send(octet_length(type)) || convert_to(type, 'UTF8') || body
$$;

-- The chain values of the events of a run that were written, one after the other; `chain` is the
-- value of the event before them.
CREATE FUNCTION log_chain_run(units jsonb, bodies bytea, first bigint[], chain bytea) RETURNS bytea
LANGUAGE plpgsql AS $$
DECLARE
    link bytea;
    chained bytea := '';
BEGIN
    FOR link IN
        SELECT event_link(first[u.unit] + e.nth, e.version, e.schema_version, e.stream, e.type,
                          substr(bodies, e.body, e.length))
        FROM jsonb_to_recordset(units) AS u(unit integer, events jsonb),
            jsonb_to_recordset(u.events) AS e(nth integer, stream text, version integer, type text,
                schema_version smallint, body integer, length integer)
        WHERE first[u.unit] > 0
        ORDER BY first[u.unit] + e.nth
    LOOP
        chain := sha256(chain || link);
        chained := chained || chain;
    END LOOP;
    RETURN chained;
END
$$;

-- The numbers (from 0) of those points {log_id, position, chain} that are not in this log.
CREATE FUNCTION log_gone_points(points jsonb) RETURNS integer[] LANGUAGE sql STABLE AS $$
    SELECT coalesce(array_agg(p.number::integer - 1), '{}')
    FROM ROWS FROM (jsonb_to_recordset(points) AS (log_id uuid, position bigint, chain text))
        WITH ORDINALITY AS p(log_id, position, chain, number)
    WHERE p.log_id <> (SELECT log_id FROM log_head)
        OR log_chain_at(p.position) IS DISTINCT FROM decode(p.chain, 'hex')
$$;

-- As before, and it chains what it writes. `points` are points of the log that units were decided
-- at; a unit whose `past` names one that is not in this log is refused.
CREATE FUNCTION log_append(runs jsonb, bodies bytea, points jsonb) RETURNS jsonb LANGUAGE plpgsql
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
                head.config_position, log_write_events(run->'units', bodies, first));
            chained := chained || log_chain_run(run->'units', bodies, first, chain);
            chain := substr(chained, length(chained) - 31);
            PERFORM log_wake(run->'units', first);
            PERFORM log_write_rows(run, bodies, first);
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

CREATE FUNCTION log_append_decisions(
    runs jsonb, bodies bytea, points jsonb, partition_key text, worker text, due bigint
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    verdicts jsonb := log_append(runs, bodies, points);
BEGIN
    IF NOT verdicts @? '$[*] ? (@.verdict != "appended")' THEN
        UPDATE partition
        SET epoch = epoch + 1, owner = worker, next_due = due,
            failures = 0, failure = '', halted_position = NULL, retry_at = NULL
        WHERE key = partition_key;
    END IF;
    RETURN verdicts;
END
$$;

-- The release before appends with these; what it appends is chained as well.
CREATE OR REPLACE FUNCTION log_append(runs jsonb, bodies bytea) RETURNS jsonb LANGUAGE sql AS $$
    SELECT log_append(runs, bodies, '[]')
$$;

-- Chains what is stored already, a row for each thousand events, in one pass. A log whose beginning
-- was taken away is chained from where it begins.
CREATE FUNCTION log_chain_stored() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    size CONSTANT bigint := 1000;
    head log_head;
    link bytea;
    chain bytea;
    chained bytea := '';
    first bigint;
    last bigint;
BEGIN
    -- Locked, so that nothing is appended unchained.
    SELECT * INTO head FROM log_head FOR UPDATE;
    last := coalesce((SELECT min(position) FROM event_whole), 1) - 1;
    first := last + 1;
    chain := sha256(convert_to(head.log_id::text, 'UTF8'));
    INSERT INTO log_chain VALUES (last, last, chain);
    FOR last, link IN
        SELECT e.position, event_link(e.position, e.version, e.schema_version, e.stream, e.type,
                                      convert_to(e.data::text, 'UTF8'))
        FROM event_whole AS e ORDER BY e.position
    LOOP
        chain := sha256(chain || link);
        chained := chained || chain;
        IF last % size = 0 THEN
            INSERT INTO log_chain VALUES (last, first, chained);
            first := last + 1;
            chained := '';
        END IF;
    END LOOP;
    IF chained <> '' THEN
        INSERT INTO log_chain VALUES (last, first, chained);
    END IF;
END
$$;
SELECT log_chain_stored();
DROP FUNCTION log_chain_stored();
