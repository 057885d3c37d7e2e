-- The number of the latest event of a stream, '0' if there is none. What it says may be of any length, and is not sent.
-- KEYS: the stream.
local latest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return latest and latest[1] or '0'
