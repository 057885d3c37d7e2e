-- Holds the name of an agent for a while, unless another process holds it. The answer is what says so of that process, or ''.
-- KEYS: the name. ARGV: what says that this process holds it, milliseconds (0 to let go), and then what may be written over.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and (kind ~= 'string' or redis.call('STRLEN', KEYS[1]) > 2000) then
    -- No agent has written that.
    redis.call('DEL', KEYS[1])
end
local holder = redis.call('GET', KEYS[1])
local is_free = not holder or holder == ARGV[1]
for place = 3, #ARGV do
    is_free = is_free or holder == ARGV[place]
end
if not is_free then
    return holder
end
if ARGV[2] == '0' then
    redis.call('DEL', KEYS[1])
else
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return ''
