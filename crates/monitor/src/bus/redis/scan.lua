-- Some members of a set, and where to go on. A name that is longer than any port's is cut off and ends with a space, so that it
-- is none.
-- KEYS: the set. ARGV: where to begin, about how many, the most bytes of a name.
local answer, names = redis.call('SSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2]), {}
for place, name in ipairs(answer[2]) do
    names[place] = #name <= tonumber(ARGV[3]) and name or string.sub(name, 1, 40) .. ' '
end
return { answer[1], names }
