-- Ten minutes after the last part of an hour came, all of its parts are merged into one. Rows of one part are read as
-- they are; those of several have to be compared, as one may be there twice.
alter table {{.Local "point"}}{{.OnCluster}}
modify setting min_age_to_force_merge_seconds = 600, min_age_to_force_merge_on_partition_only = 1;
