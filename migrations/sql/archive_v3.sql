-- Old partitions of the log stand here once they are archived: whole, protected and readable.
CREATE TABLE event_archive (LIKE event INCLUDING ALL) PARTITION BY RANGE (position);
SELECT protect_from_change('event_archive');

-- The log from its beginning, wherever its parts stand.
CREATE VIEW event_whole AS
    SELECT * FROM event_archive
    UNION ALL
    SELECT * FROM event;
