-- Appends groups of units; every unit has its own verdict, and all share one transaction.
--
-- `runs` is an array of runs {units, workload, object, round, round_victim, gone}. No unit of a run
-- touches what another unit of the same run touches or expects, so that a run is judged and written
-- as a set; a later run sees what earlier ones wrote. The head row is locked for the whole call and
-- gives out positions without gaps.
--
-- Events, states and answers lie one after the other in `bodies`; `body` and `length` say where.
-- Parsing them as a part of `runs` would take longer than all the rest.

CREATE FUNCTION partition_lock(key text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT hashtextextended(key, 7305)
$$;

CREATE FUNCTION log_conflict(reason text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('verdict', 'conflict', 'reason', reason)
$$;

-- What is wrong with each unit of a run, in order: null where it may be written.
CREATE FUNCTION log_judge(units jsonb, configured bigint) RETURNS jsonb[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT array_agg(CASE
        WHEN k.request_hash = u.request_hash THEN jsonb_build_object(
            'verdict', 'replayed', 'request_hash', k.request_hash, 'status', k.status,
            'answer', encode(k.answer, 'base64'), 'position', k.position)
        WHEN k.key IS NOT NULL THEN jsonb_build_object('verdict', 'key_reused')
        WHEN u.partition IS NOT NULL AND p.key IS NULL
            THEN log_conflict('the partition is no more')
        WHEN p.epoch <> u.epoch OR NOT pg_try_advisory_xact_lock(partition_lock(u.partition))
            THEN log_conflict('another worker has taken the partition')
        WHEN p.guard <> u.guard
            THEN log_conflict('something has moved the guard of the partition')
        WHEN u.config_position < configured
            THEN log_conflict('the configuration has changed')
        ELSE (
            SELECT log_conflict(format('%s is at version %s, not %s',
                e.key, coalesce(s.version, 0), e.value))
            FROM jsonb_each_text(u.expected) AS e LEFT JOIN stream AS s ON s.name = e.key
            WHERE coalesce(s.version, 0) <> e.value::integer
            ORDER BY e.key COLLATE "C" LIMIT 1)
        END ORDER BY u.number)
    FROM ROWS FROM (jsonb_to_recordset(units) AS (
            key text, key_actor text, request_hash text, partition text,
            epoch bigint, guard bigint, config_position bigint, expected jsonb)
        ) WITH ORDINALITY AS u(
            key, key_actor, request_hash, partition,
            epoch, guard, config_position, expected, number)
        LEFT JOIN idempotency AS k ON k.key = u.key AND k.actor = u.key_actor
        LEFT JOIN partition AS p ON p.key = u.partition);
END
$$;

-- One JSON document out of the bodies.
CREATE FUNCTION log_body(bodies bytea, body integer, length integer) RETURNS json
LANGUAGE sql STABLE AS $$
    SELECT convert_from(substr(bodies, body, length), 'UTF8')::json
$$;

-- Writes the events, new stream versions and keys of the units that have a first position;
-- the position of the last event that configures, or null.
CREATE FUNCTION log_write_events(units jsonb, bodies bytea, first bigint[]) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (position, stream, version, type, schema_version, data, at,
                       actor, reason, causation, correlation, trace)
    SELECT first[u.unit] + e.nth, e.stream, e.version, e.type, e.schema_version,
           log_body(bodies, e.body, e.length), u.at, u.actor, coalesce(u.reason, ''),
           coalesce(u.causation, ''), coalesce(u.correlation, ''), coalesce(u.trace, '')
    FROM jsonb_to_recordset(units) AS u(unit integer, at bigint, actor text, reason text,
            causation text, correlation text, trace text, events jsonb),
        jsonb_to_recordset(u.events) AS e(nth integer, stream text, version integer, type text,
            schema_version smallint, body integer, length integer)
    WHERE first[u.unit] > 0
    ORDER BY 1;

    INSERT INTO stream AS known (name, version, position)
    SELECT t.stream, t.version, first[u.unit] + t.nth
    FROM jsonb_to_recordset(units) AS u(unit integer, touched jsonb),
        jsonb_to_recordset(u.touched) AS t(stream text, version integer, nth integer)
    WHERE first[u.unit] > 0
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, position = excluded.position;

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

-- Makes the partitions due that must look at these events. A name that is no partition (any more)
-- means all of them: the partitions may have been reshaped since the name was computed.
CREATE FUNCTION log_wake(units jsonb, first bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH woken AS (
        SELECT u.unit, u.partition AS fenced, w.key, first[u.unit] + w.nth AS position, w.guards
        FROM jsonb_to_recordset(units) AS u(unit integer, partition text, wakes jsonb),
            jsonb_to_recordset(u.wakes) AS w(key text, nth integer, guards integer)
        WHERE first[u.unit] > 0
    ), addressed AS (
        SELECT p.key, w.unit, w.fenced, w.position, w.guards
        FROM woken AS w JOIN partition AS p ON p.key = w.key
        UNION ALL
        SELECT p.key, w.unit, w.fenced, w.position, w.guards
        FROM woken AS w CROSS JOIN partition AS p
        WHERE NOT EXISTS (SELECT FROM partition AS known WHERE known.key = w.key)
    ), by_unit AS (
        -- A worker knows what it did itself: that does not move the guard of its own partition.
        SELECT key, max(position) AS position,
               max(CASE WHEN fenced = key THEN 0 ELSE guards END) AS guards
        FROM addressed GROUP BY key, unit
    )
    UPDATE partition AS p
    SET last_position = greatest(p.last_position, moved.position), guard = p.guard + moved.guards
    FROM (
        SELECT key, max(position) AS position, sum(guards) AS guards FROM by_unit GROUP BY key
    ) AS moved
    WHERE p.key = moved.key;
END
$$;

-- Replaced by log_chain_v9.sql.
CREATE FUNCTION log_append(runs jsonb, bodies bytea) RETURNS jsonb LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
AS $$
DECLARE
    head log_head;
    before bigint;
    run jsonb;
    refusals jsonb[];
    first bigint[];
    verdicts jsonb[] := '{}';
BEGIN
    SELECT * INTO head FROM log_head FOR NO KEY UPDATE;
    before := head.position;
    FOR run IN SELECT jsonb_array_elements(runs) LOOP
        refusals := log_judge(run->'units', head.config_position);
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
            PERFORM log_wake(run->'units', first);
            PERFORM log_write_rows(run, bodies, first);
        END IF;
    END LOOP;
    IF head.position > before THEN
        UPDATE log_head SET position = head.position, config_position = head.config_position;
        IF head.position / 500000 <> before / 500000 THEN
            PERFORM extend_log(head.position + 1000000);
        END IF;
        PERFORM pg_notify('headgate_log', head.position::text);
    END IF;
    RETURN to_jsonb(verdicts);
END
$$;

-- Appends what a worker decided and, if every unit was written, ends its turn with the partition.
CREATE FUNCTION log_append_decisions(
    runs jsonb, bodies bytea, partition_key text, worker text, due bigint
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    verdicts jsonb := log_append(runs, bodies);
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
