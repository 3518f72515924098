-- Endless rows, and endless work for a row.
with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r

with recursive r(n) as (select 1 union all select n + 1 from r) select * from r

with recursive r(n) as (select 1 union all select n + 1 from r) select * from r where n < 0

with recursive r(n) as (select 1 union select n + 1 from r) select n from r where n < 0

select count(*) from events a, events b, events c, events d

-- Memory: aggregates, one and many.
with recursive r(n) as (select 1 union all select n + 1 from r) select json_group_array(n) from r

with recursive r(n) as (select 1 union all select n + 1 from r)
select n, json_group_array(hex(zeroblob(1000))) from r group by n % 20000

with recursive r(n) as (select 1 union all select n + 1 from r)
select json_group_object(n, hex(zeroblob(100000))) from r

with recursive r(n) as (select 1 union all select n + 1 from r)
select group_concat(hex(zeroblob(100000))), string_agg(hex(randomblob(100000)), ',') from r

with recursive r(n) as (select 1 union all select n + 1 from r)
select count(distinct hex(randomblob(100000))), count(distinct hex(randomblob(100))) from r

with recursive r(n) as (select 1 union all select n + 1 from r)
select n, count(*) from r group by hex(randomblob(10000)) || n

with recursive r(n) as (select 1 union all select n + 1 from r)
select median(n), percentile(n, 50), percentile_cont(n, 0.5) from r

with recursive r(n) as (select 1 union all select n + 1 from r where n < 4000)
select json_array_length(json_group_array(json(json_array(hex(zeroblob(100000)))))) from r

with recursive r(n) as (select 1 union all select n + 1 from r where n < 5000)
select max(length(x)) from (select group_concat(hex(zeroblob(20))) over (partition by n % 100
  rows between unbounded preceding and unbounded following) as x from r)

with recursive r(n) as (select 1 union all select n + 1 from r)
select sum(n) over (order by n rows between unbounded preceding and unbounded following), hex(zeroblob(10000)) from r

select json_group_array(a.comm || b.comm || c.id) from events a, events b, events c

-- Sorts, and results that are kept.
with recursive r(n) as (select 1 union all select n + 1 from r) select hex(randomblob(100000)) as x from r order by x

with recursive r(n) as (select 1 union all select n + 1 from r), t as materialized (select hex(randomblob(100000)) as x
from r) select count(*) from t a, t b

with recursive r(n, x) as (select 1, hex(randomblob(100000)) union select n + 1, hex(randomblob(100000)) from r)
select count(*) from r

with recursive r(n, x) as (select 1, hex(randomblob(100000)) union all select n + 1, x from r order by 2)
select count(*) from r

select * from events a, events b, events c order by a.duration_ns + b.duration_ns

-- Rows as long as they may be, with as many values as there may be.
with recursive r(n) as (select 1 union all select n + 1 from r) select hex(zeroblob(100000)), hex(zeroblob(100000)),
hex(zeroblob(100000)), hex(zeroblob(100000)), hex(zeroblob(100000)), hex(zeroblob(100000)) from r

-- Values that are too large.
select printf('%.*c', 900000000, 'x')

select zeroblob(900000000)

select hex(zeroblob(200000000))

select replace(hex(zeroblob(60000)), '0', hex(zeroblob(60000)))

select quote(zeroblob(250000)), upper(hex(zeroblob(120000))), json_quote(hex(zeroblob(120000)))

-- Functions whose work is not limited by the length of what they get.
select '1' glob (select group_concat('*a', '') from events a, events b), length(hex(randomblob(100000))) * 1.0

with recursive r(n, x) as (select 1, '[' union all select n + 1, x || x from r where n < 17)
select json_valid(x || replace(x, '[', ']')), json(x || replace(x, '[', ']')) from r order by n desc limit 1

select json_tree.* from json_tree((select json_group_array(json_object('a', id)) from events)) a,
json_tree where a.id > 0

with recursive r(n) as (select 1 union all select n + 1 from r)
select json_patch(json_object(n, hex(zeroblob(60000))), json_object(n + 1, hex(zeroblob(60000)))) from r

-- Reaching for what is not theirs.
attach database '/tmp/evil.db' as evil

attach ':memory:' as m

detach main

pragma journal_mode = delete

pragma writable_schema = 1

pragma hard_heap_limit = 0

pragma soft_heap_limit = 0

pragma hard_heap_limit(0)

select * from pragma_hard_heap_limit

pragma cache_size = -4000000

pragma mmap_size = 2000000000

pragma temp_store_directory = '/etc'

pragma query_only = off

pragma trusted_schema = on

pragma threads = 64

select load_extension('/tmp/evil.so')

select writefile('/tmp/evil', 'x')

select readfile('/etc/passwd')

select fts3_tokenizer('simple', x'4141414141414141')

select * from sqlite_dbpage

select sum(pgsize) from dbstat a, dbstat b

delete from call

update session set node = 'x'

drop table call

insert into meta values ('a', 'b')

create table t (a)

create temp table t as select randomblob(100000) from events

create temp view v as select 1

create virtual table temp.f using fts5(a)

vacuum

vacuum into '/tmp/evil.db'

begin exclusive

savepoint a

reindex

analyze

select 1; delete from call

explain select count(*) from events a, events b

seléct * fröm events
