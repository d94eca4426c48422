-- Objects and pod templates as written may be erased, by one function and no other way.

-- An append holds off erasures until its events refer to what it keeps.
CREATE FUNCTION written_object_hold() RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT pg_advisory_xact_lock_shared(hashtext('written_object'))
$$;

CREATE FUNCTION refuse_change_of_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('headgate.erasing', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'what was written is kept: % on % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END
$$;

DROP TRIGGER append_only ON written_object;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON written_object
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_written();
GRANT DELETE ON written_object TO CURRENT_USER;

-- Deletes these bodies, once no append is under way; gives the digests that were kept.
CREATE FUNCTION written_object_erase(digests text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('written_object'));
    PERFORM set_config('headgate.erasing', 'on', true);
    RETURN QUERY DELETE FROM written_object AS w WHERE w.digest = ANY (digests) RETURNING w.digest;
    PERFORM set_config('headgate.erasing', '', true);
END
$$;
