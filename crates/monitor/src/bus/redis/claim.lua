-- Holds the name of an agent for a while, unless another process holds it. The answer is that process, or ''.
-- KEYS: the name. ARGV: this process, milliseconds (0 to let go), a process that is known to be gone.
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[3] then
    return holder
end
if ARGV[2] == '0' then
    redis.call('DEL', KEYS[1])
else
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return ''
