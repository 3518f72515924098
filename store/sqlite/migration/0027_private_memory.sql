-- Of rss, in bytes: what belongs to the process alone, without files that are mapped; null: not known.
alter table host_memory add column private integer;
