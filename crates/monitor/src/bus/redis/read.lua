-- Reads fields of hashes, none of which is longer than it may be: a field that is gives its length instead.
-- KEYS: the hashes. ARGV: the most bytes, then the fields. The answer has a list for each hash, or what it is if it is none.
local most, all = tonumber(ARGV[1]), {}
for index, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key).ok
    if kind ~= 'none' and kind ~= 'hash' then
        all[index] = kind
    else
        local fields = {}
        for place = 2, #ARGV do
            local bytes = redis.call('HSTRLEN', key, ARGV[place])
            fields[place - 1] = bytes > most and bytes or redis.call('HGET', key, ARGV[place])
        end
        all[index] = fields
    end
end
return all
