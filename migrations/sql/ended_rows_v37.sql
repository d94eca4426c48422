-- Rows of workloads that have ended stand in a table of their own. `workload` is both: what reads it
-- with phases reads the partitions that have them.

-- The phases of `EndPhase`, as `workload_ended` lists them.
CREATE FUNCTION workload_has_ended(phase text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN phase IN ('Succeeded', 'Failed', 'Cancelled');

DROP VIEW stream;
ALTER TABLE workload RENAME TO workload_before;
CREATE TABLE workload (LIKE workload_before INCLUDING DEFAULTS) PARTITION BY LIST (phase);
CREATE TABLE workload_live PARTITION OF workload DEFAULT
    WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- Its rows are hardly ever changed: they are written full, in the order in which workloads end.
CREATE TABLE workload_ended PARTITION OF workload
    FOR VALUES IN ('Succeeded', 'Failed', 'Cancelled');
INSERT INTO workload_live SELECT * FROM workload_before
WHERE NOT workload_has_ended(phase) ORDER BY created_at, stream;
INSERT INTO workload_ended SELECT * FROM workload_before
WHERE workload_has_ended(phase) ORDER BY finished_at, stream;
DROP TABLE workload_before;

-- On the partitions, as each has those that its rows need. Indexes of instants leave ties to be
-- sorted: a stream in each of them would double its size.
ALTER TABLE workload_live ADD CONSTRAINT workload_live_pkey PRIMARY KEY (stream);
CREATE INDEX workload_live_created_at ON workload_live (created_at);
CREATE INDEX workload_live_namespace_phase ON workload_live (namespace, phase, created_at);
CREATE INDEX workload_live_owner ON workload_live (owner, created_at);
CREATE INDEX workload_live_phase ON workload_live (phase, created_at);
CREATE INDEX workload_live_phase_name ON workload_live ((phase || ''), name);
CREATE INDEX workload_live_reserved_at ON workload_live (reserved_at)
    WHERE reserved_at IS NOT NULL;
CREATE INDEX workload_live_stuck ON workload_live (stuck_since, created_at DESC, stream DESC)
    WHERE stuck_cause <> '';
CREATE INDEX workload_live_waits ON workload_live (cluster_queue, size_class, reserved_at)
    WHERE reserved_at IS NOT NULL;
ALTER TABLE workload_ended ADD CONSTRAINT workload_ended_pkey PRIMARY KEY (stream);
CREATE INDEX workload_ended_created_at ON workload_ended (created_at);
CREATE INDEX workload_ended_namespace_phase ON workload_ended (namespace, phase, created_at);
CREATE INDEX workload_ended_owner ON workload_ended (owner, created_at);
CREATE INDEX workload_ended_phase ON workload_ended (phase, created_at);
CREATE INDEX workload_ended_phase_name ON workload_ended ((phase || ''), name);
CREATE INDEX workload_ended_reserved_at ON workload_ended (reserved_at)
    WHERE reserved_at IS NOT NULL;
CREATE INDEX workload_ended_waits ON workload_ended (cluster_queue, size_class, reserved_at)
    WHERE reserved_at IS NOT NULL;
CREATE INDEX workload_ended_finished ON workload_ended (finished_at);
CREATE INDEX workload_ended_expiring ON workload_ended (due_at) WHERE due_at IS NOT NULL;

-- Every stream once; a stream of a workload stands in one of these tables.
CREATE VIEW stream AS
    SELECT name, version, position FROM stream_version
    UNION ALL
    SELECT stream, version, position FROM workload;

-- Rows are looked up behind `OFFSET 0` or by `= ANY (ARRAY[...])`, which no merge goes by: else a plan
-- that was made while nothing lived would walk through the whole table for each append, and be kept.

-- Writes the inline read models of a run: rows name their unit and, as `position`, the place of the
-- event in it that they follow from. `workload_tally` moves by what each workload was before and is
-- now, and `wait_tally` with the waits that ended in a reservation. The row of a workload that ends
-- moves to `workload_ended`; no stream comes twice in a run. States lie in `bodies` as they are stored.
CREATE OR REPLACE FUNCTION log_write_rows(run jsonb, bodies bytea, first bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF run ? 'gone' THEN
        WITH gone AS (
            DELETE FROM workload USING jsonb_to_recordset(run->'gone') AS g(unit integer, row_table text, stream text)
            WHERE first[g.unit] > 0 AND g.row_table = 'workload'
                AND workload.stream = ANY (ARRAY[g.stream])
            RETURNING namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause, gpus, pods,
                reserved_at, created_at
        ), waits AS (
            INSERT INTO wait_tally AS kept
            SELECT wait_slot(reserved_at), cluster_queue, rounded_wait(reserved_at - created_at), -count(*)
            FROM gone WHERE reserved_at IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            ON CONFLICT ON CONSTRAINT wait_tally_pkey DO UPDATE SET
                workloads = kept.workloads + excluded.workloads
        )
        INSERT INTO workload_tally AS kept
        SELECT namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause,
            -count(*), -sum(gpus), -sum(pods)
        FROM gone GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT ON CONSTRAINT workload_tally_pkey DO UPDATE SET
            workloads = kept.workloads + excluded.workloads,
            gpus = kept.gpus + excluded.gpus, pods = kept.pods + excluded.pods;
        DELETE FROM object USING jsonb_to_recordset(run->'gone') AS g(unit integer, row_table text, stream text)
        WHERE first[g.unit] > 0 AND g.row_table = 'object' AND object.stream = g.stream;
    END IF;
    IF run ? 'workload' THEN
        WITH written AS MATERIALIZED (
            SELECT r.stream, r.version, first[r.unit] + r.position AS position, r.namespace, r.name,
                r.local_queue, r.cluster_queue, coalesce(r.owner, '') AS owner, r.phase,
                r.priority, r.created_at, r.labels, r.due_at, coalesce(r.gpus, 0) AS gpus,
                coalesce(r.pods, 0) AS pods, coalesce(r.executed_seconds, 0) AS executed_seconds,
                r.admitted_at, r.finished_at, r.stuck_since,
                coalesce(r.stuck_cause, '') AS stuck_cause, r.reserved_at,
                coalesce(r.size_class, '') AS size_class, r.body, r.length
            FROM jsonb_to_recordset(run->'workload') AS r(unit integer, stream text,
                version integer, position bigint, namespace text, name text,
                local_queue text, cluster_queue text, owner text, phase text, priority bigint,
                created_at bigint, labels jsonb, due_at bigint, gpus bigint, pods bigint,
                executed_seconds bigint, admitted_at bigint, finished_at bigint,
                stuck_since bigint, stuck_cause text, reserved_at bigint, size_class text,
                body integer, length integer)
            WHERE first[r.unit] > 0
        ), known AS MATERIALIZED (
            SELECT w.stream, w.namespace, w.local_queue, w.cluster_queue, w.owner, w.phase,
                w.priority, w.stuck_cause, w.gpus, w.pods, w.reserved_at, w.created_at,
                workload_has_ended(w.phase) AS ended,
                workload_has_ended(w.phase) <> workload_has_ended(written.phase) AS moves
            FROM written CROSS JOIN LATERAL (
                SELECT * FROM workload WHERE workload.stream = written.stream OFFSET 0) AS w
        ), counted AS (
            SELECT namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause,
                1 AS workloads, gpus, pods
            FROM written
            UNION ALL
            SELECT namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause,
                -1, -gpus, -pods
            FROM known
        ), waited AS (
            SELECT cluster_queue, reserved_at, created_at, 1 AS workloads
            FROM written WHERE reserved_at IS NOT NULL
            UNION ALL
            SELECT cluster_queue, reserved_at, created_at, -1
            FROM known WHERE reserved_at IS NOT NULL
        ), waits AS (
            INSERT INTO wait_tally AS kept
            SELECT wait_slot(reserved_at), cluster_queue, rounded_wait(reserved_at - created_at),
                sum(workloads)
            FROM waited GROUP BY 1, 2, 3 HAVING sum(workloads) <> 0 ORDER BY 1, 2, 3
            ON CONFLICT ON CONSTRAINT wait_tally_pkey DO UPDATE SET
                workloads = kept.workloads + excluded.workloads
        ), moved AS (
            INSERT INTO workload_tally AS kept
            SELECT namespace, local_queue, cluster_queue, owner, phase, priority, stuck_cause,
                sum(workloads), sum(gpus), sum(pods)
            FROM counted GROUP BY 1, 2, 3, 4, 5, 6, 7
            HAVING sum(workloads) <> 0 OR sum(gpus) <> 0 OR sum(pods) <> 0
            ORDER BY 1, 2, 3, 4, 5, 6, 7
            ON CONFLICT ON CONSTRAINT workload_tally_pkey DO UPDATE SET
                workloads = kept.workloads + excluded.workloads,
                gpus = kept.gpus + excluded.gpus, pods = kept.pods + excluded.pods
        ), no_longer_live AS (
            DELETE FROM workload_live USING known
            WHERE known.moves AND NOT known.ended
                AND workload_live.stream = ANY (ARRAY[known.stream])
        ), no_longer_ended AS (
            DELETE FROM workload_ended USING known
            WHERE known.moves AND known.ended
                AND workload_ended.stream = ANY (ARRAY[known.stream])
        ), ended AS (
            INSERT INTO workload_ended (stream, version, position, namespace, name, local_queue,
                cluster_queue, owner, phase, priority, created_at, labels, due_at, gpus, pods,
                executed_seconds, admitted_at, finished_at, stuck_since, stuck_cause, reserved_at,
                size_class, state)
            SELECT stream, version, position, namespace, name, local_queue, cluster_queue, owner,
                phase, priority, created_at, labels, due_at, gpus, pods, executed_seconds,
                admitted_at, finished_at, stuck_since, stuck_cause, reserved_at, size_class,
                substr(bodies, body, length)
            FROM written
            WHERE workload_has_ended(phase)
            ON CONFLICT (stream) DO UPDATE SET
                version = excluded.version, position = excluded.position,
                local_queue = excluded.local_queue, cluster_queue = excluded.cluster_queue,
                owner = excluded.owner, phase = excluded.phase, priority = excluded.priority,
                created_at = excluded.created_at, labels = excluded.labels,
                due_at = excluded.due_at, gpus = excluded.gpus, pods = excluded.pods,
                executed_seconds = excluded.executed_seconds, admitted_at = excluded.admitted_at,
                finished_at = excluded.finished_at, stuck_since = excluded.stuck_since,
                stuck_cause = excluded.stuck_cause, reserved_at = excluded.reserved_at,
                size_class = excluded.size_class, state = excluded.state
        )
        INSERT INTO workload_live (stream, version, position, namespace, name, local_queue,
            cluster_queue, owner, phase, priority, created_at, labels, due_at, gpus, pods,
            executed_seconds, admitted_at, finished_at, stuck_since, stuck_cause, reserved_at,
            size_class, state)
        SELECT stream, version, position, namespace, name, local_queue, cluster_queue, owner,
            phase, priority, created_at, labels, due_at, gpus, pods, executed_seconds,
            admitted_at, finished_at, stuck_since, stuck_cause, reserved_at, size_class,
            substr(bodies, body, length)
        FROM written
        WHERE NOT workload_has_ended(phase)
        ON CONFLICT (stream) DO UPDATE SET
            version = excluded.version, position = excluded.position,
            local_queue = excluded.local_queue, cluster_queue = excluded.cluster_queue,
            owner = excluded.owner, phase = excluded.phase, priority = excluded.priority,
            created_at = excluded.created_at, labels = excluded.labels,
            due_at = excluded.due_at, gpus = excluded.gpus, pods = excluded.pods,
            executed_seconds = excluded.executed_seconds, admitted_at = excluded.admitted_at,
            finished_at = excluded.finished_at, stuck_since = excluded.stuck_since,
            stuck_cause = excluded.stuck_cause, reserved_at = excluded.reserved_at,
            size_class = excluded.size_class, state = excluded.state;
    END IF;
    IF run ? 'object' THEN
        INSERT INTO object (stream, version, position, kind, namespace, name, uid, cluster_queue,
            labels, due_at, state)
        SELECT r.stream, r.version, first[r.unit] + r.position, r.kind, r.namespace, r.name, r.uid,
            r.cluster_queue, r.labels, r.due_at, substr(bodies, r.body, r.length)
        FROM jsonb_to_recordset(run->'object') AS r(unit integer, stream text, version integer,
            position bigint, kind text, namespace text, name text, uid text, cluster_queue text,
            labels jsonb, due_at bigint, body integer, length integer)
        WHERE first[r.unit] > 0
        ON CONFLICT (stream) DO UPDATE SET
            version = excluded.version, position = excluded.position, uid = excluded.uid,
            cluster_queue = excluded.cluster_queue, labels = excluded.labels,
            due_at = excluded.due_at, state = excluded.state;
    END IF;
    IF run ? 'round' THEN
        INSERT INTO round (stream, version, position, stage, preemptor, cluster_queue,
            committed_at, due_at, state)
        SELECT r.stream, r.version, first[r.unit] + r.position, r.stage, r.preemptor,
            r.cluster_queue, r.committed_at, r.due_at, substr(bodies, r.body, r.length)
        FROM jsonb_to_recordset(run->'round') AS r(unit integer, stream text, version integer,
            position bigint, stage text, preemptor text, cluster_queue text, committed_at bigint,
            due_at bigint, body integer, length integer)
        WHERE first[r.unit] > 0
        ON CONFLICT (stream) DO UPDATE SET
            version = excluded.version, position = excluded.position, stage = excluded.stage,
            due_at = excluded.due_at, state = excluded.state;
    END IF;
    IF run ? 'round_victim' THEN
        INSERT INTO round_victim (stream, workload, version, position, cluster_queue, reason,
            released)
        SELECT r.stream, r.workload, r.version, first[r.unit] + r.position, r.cluster_queue,
            r.reason, r.released
        FROM jsonb_to_recordset(run->'round_victim') AS r(unit integer, stream text, workload text,
            version integer, position bigint, cluster_queue text, reason text, released boolean)
        WHERE first[r.unit] > 0
        ON CONFLICT (stream, workload) DO UPDATE SET
            version = excluded.version, position = excluded.position,
            released = excluded.released;
    END IF;
END
$$;

-- Notes the versions that streams have after a run, when its rows are written. Those `has_row` says it
-- of are in rows of the run already, and are not looked up; the release before says it of none.
CREATE OR REPLACE FUNCTION log_write_versions(units jsonb, first bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH touched AS MATERIALIZED (
        SELECT t.stream, t.version, first[u.unit] + t.nth AS position,
            CASE WHEN t.has_row THEN t.version ELSE w.version END AS shown
        FROM jsonb_to_recordset(units) AS u(unit integer, touched jsonb)
            CROSS JOIN jsonb_to_recordset(u.touched) AS t(
                stream text, version integer, nth integer, has_row boolean)
            LEFT JOIN workload AS w
                ON w.stream = ANY (CASE WHEN t.has_row THEN '{}' ELSE ARRAY[t.stream] END)
        WHERE first[u.unit] > 0
    ), without_row_before AS (
        DELETE FROM stream_version USING touched
        WHERE touched.shown IS NOT NULL AND stream_version.name = ANY (ARRAY[touched.stream])
    ), without_row_now AS (
        UPDATE workload SET version = touched.version, position = touched.position
        FROM touched
        WHERE touched.shown < touched.version AND workload.stream = ANY (ARRAY[touched.stream])
    )
    INSERT INTO stream_version AS known (name, version, position)
    SELECT stream, version, position FROM touched WHERE shown IS NULL
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, position = excluded.position;
END
$$;

ALTER FUNCTION log_append(jsonb, bytea, jsonb, bytea, integer) SET enable_material = off;
