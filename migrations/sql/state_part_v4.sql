-- Parts that cached folds share; `parts` names those of one fold, and a part of none is deleted.
CREATE TABLE state_part (
    name text COLLATE "C" CONSTRAINT state_part_pkey PRIMARY KEY,
    body bytea NOT NULL
);
ALTER TABLE state_part ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE state_cache ADD COLUMN parts text[] NOT NULL DEFAULT '{}';
