-- Only pruning used it, and it cost as much as the rows.
drop index label_next;
