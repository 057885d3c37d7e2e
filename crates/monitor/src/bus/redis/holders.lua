-- Which processes have the names of agents: for each a text, or '' if there is none that an agent could have written.
-- KEYS: the names.
local holders = {}
for place, key in ipairs(KEYS) do
    local is_text = redis.call('TYPE', key).ok == 'string' and redis.call('STRLEN', key) <= 2000
    holders[place] = is_text and redis.call('GET', key) or ''
end
return holders
