-- Makes the tables of `cortex export --to sqlite` of its lines of JSON, which stand in `lines`.
CREATE TABLE "cortex-export" AS SELECT 'cortex-export' AS kind, json_extract(line, '$.format') AS format,
  json_extract(line, '$.version') AS version FROM lines LIMIT 1;
CREATE TABLE records AS SELECT json_extract(line, '$.path') AS path, json_extract(line, '$.id') AS id,
  json_extract(line, '$.type') AS type, json_extract(line, '$.title') AS title,
  json_extract(line, '$.status') AS status, json_extract(line, '$.scope') AS scope,
  json_extract(line, '$.project') AS project, json_extract(line, '$.branch') AS branch,
  json_extract(line, '$.topic') AS topic, json_extract(line, '$.session') AS session,
  json_extract(line, '$.owner') AS owner, json_extract(line, '$.due') AS due,
  json_extract(line, '$.date') AS date, json_extract(line, '$.created') AS created,
  json_extract(line, '$.updated') AS updated, json_extract(line, '$.confidence') AS confidence,
  json_extract(line, '$.priority') AS priority, json_extract(line, '$.pinned') AS pinned,
  json_extract(line, '$.superseded_by') AS superseded_by, json_extract(line, '$.head') AS head,
  json_extract(line, '$.text') AS text
  FROM lines WHERE json_extract(line, '$.kind') = 'record';
CREATE TABLE notes AS SELECT json_extract(line, '$.path') AS path, json_extract(line, '$.id') AS id,
  json_extract(line, '$.kind') AS kind, json_extract(line, '$.type') AS type,
  json_extract(line, '$.title') AS title, json_extract(line, '$.project') AS project,
  json_extract(line, '$.created') AS created, json_extract(line, '$.updated') AS updated,
  json_extract(line, '$.head') AS head, json_extract(line, '$.text') AS text
  FROM lines WHERE json_extract(line, '$.kind') IN ('note', 'session');
CREATE TABLE events AS SELECT json_extract(line, '$.path') AS path, json_extract(line, '$.id') AS id,
  json_extract(line, '$.type') AS type, json_extract(line, '$.at') AS at,
  json_extract(line, '$.session') AS session, json_extract(line, '$.project') AS project,
  json_extract(line, '$.branch') AS branch, json_extract(line, '$.host') AS host,
  json_extract(line, '$.head') AS head, json_extract(line, '$.text') AS text
  FROM lines WHERE json_extract(line, '$.kind') = 'event';
CREATE TABLE relations AS SELECT json_extract(line, '$.id') AS record,
  json_extract(value, '$[0]') AS kind, json_extract(value, '$[1]') AS target
  FROM lines, json_each(line, '$.relations') WHERE json_extract(line, '$.kind') = 'record';
CREATE TABLE tags AS SELECT json_extract(line, '$.id') AS id, value AS tag
  FROM lines, json_each(line, '$.tags');
DROP TABLE lines;
CREATE INDEX records_id ON records (id);
CREATE INDEX events_id ON events (id);
CREATE VIRTUAL TABLE records_fts USING fts5(title, text, content='records');
INSERT INTO records_fts (records_fts) VALUES ('rebuild');
VACUUM;
