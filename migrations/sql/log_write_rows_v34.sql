-- Writes the inline read models of a run: rows name their unit and, as `position`, the place of the
-- event in it that they follow from. `workload_tally` moves by what each workload was before and is
-- now, and `wait_tally` with the waits that ended in a reservation; no stream comes twice in a run.
-- States lie in `bodies` as they are stored.

CREATE OR REPLACE FUNCTION log_write_rows(run jsonb, bodies bytea, first bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF run ? 'gone' THEN
        WITH gone AS (
            DELETE FROM workload USING jsonb_to_recordset(run->'gone') AS g(unit integer, row_table text, stream text)
            WHERE first[g.unit] > 0 AND g.row_table = 'workload' AND workload.stream = g.stream
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
            SELECT w.namespace, w.local_queue, w.cluster_queue, w.owner, w.phase, w.priority,
                w.stuck_cause, w.gpus, w.pods, w.reserved_at, w.created_at
            FROM written JOIN workload AS w ON w.stream = written.stream
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
        )
        INSERT INTO workload (stream, version, position, namespace, name, local_queue,
            cluster_queue, owner, phase, priority, created_at, labels, due_at, gpus, pods,
            executed_seconds, admitted_at, finished_at, stuck_since, stuck_cause, reserved_at,
            size_class, state)
        SELECT stream, version, position, namespace, name, local_queue, cluster_queue, owner,
            phase, priority, created_at, labels, due_at, gpus, pods, executed_seconds, admitted_at,
            finished_at, stuck_since, stuck_cause, reserved_at, size_class,
            substr(bodies, body, length)
        FROM written
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
