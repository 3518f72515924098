-- Threads between calls (op is 0): silent is 1 if it makes calls and made none since start; peer is the thread that has the
-- other end of the pipe that it waits for; stuck is 1 if no thread of its process could end its wait.
alter table in_flight add column silent integer;
alter table in_flight add column peer integer;
alter table in_flight add column stuck integer;
