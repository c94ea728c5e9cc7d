-- Run once, in the database the container makes at its first start.
create extension memory_engine cascade;
