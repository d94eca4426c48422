-- Facts are neither changed nor taken back: refused by trigger for everyone, by grant for all but superusers.

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log is append-only: % on % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;

CREATE FUNCTION protect_from_change(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON %s '
        'FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', relation);
    EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON %s FROM PUBLIC, CURRENT_USER', relation);
END
$$;

-- Adds the partitions of the log that are missing up to a position, a million positions each.
-- A table is made beside the log and then attached, as that does not wait for readers.
CREATE FUNCTION extend_log(up_to bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    size CONSTANT bigint := 1000000;
    child text;
BEGIN
    FOR number IN 0 .. up_to / size LOOP
        child := 'event_' || number;
        CONTINUE WHEN to_regclass(child) IS NOT NULL;
        EXECUTE format('CREATE TABLE %I (LIKE event INCLUDING ALL)', child);
        EXECUTE format(
            'ALTER TABLE event ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
            child, number * size, (number + 1) * size);
        PERFORM protect_from_change(child::regclass);
    END LOOP;
END
$$;

SELECT protect_from_change('event');
SELECT extend_log(1000000);
