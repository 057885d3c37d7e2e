-- Takes a part out of a direction that no agent has written, unless it is another one by now.
-- KEYS: the direction. ARGV: the name of the part, and its JSON.
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then
    redis.call('HDEL', KEYS[1], ARGV[1], ARGV[1] .. '-generation', ARGV[1] .. '-seal')
end
