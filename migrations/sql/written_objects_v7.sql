-- Objects as their authors wrote them; events refer to them by digest, so they are never changed.
CREATE TABLE written_object (
    digest text COLLATE "C" CONSTRAINT written_object_pkey PRIMARY KEY,
    body bytea NOT NULL
);
SELECT protect_from_change('written_object');
