-- Takes what is not older than what is known of a direction, and says so to all agents: DirectionState::advance, in the server.
-- KEYS: the direction, the index of all directions, the stream of events.
-- ARGV: version, port, most events, the highest generation that is believed, then generation, JSON and seal of the request, and
-- of the acknowledgement; '' for none.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' and kind ~= 'hash' then
    redis.call('DEL', KEYS[1])
end
local known = redis.call('HMGET', KEYS[1], 'version', 'request-generation', 'acknowledgement-generation')
-- A later program may have written it, whose versions go on counting. What is no such number is nobody's, and keeps nobody from
-- writing.
if known[1] and known[1] ~= ARGV[1] and string.find(known[1], '^[1-9]%d?$') then
    return 'its version is ' .. known[1] .. ', this program knows ' .. ARGV[1]
end

-- Numbers of Lua have 53 bits, so generations are compared as texts: the longer one is the larger one.
local function older(one, other)
    if #one ~= #other then
        return #one < #other
    end
    return one < other
end

-- A seal is 'AGENT NUMBER READER TAG'. Of two for the same request, the one with the higher number was made later.
local function number(seal)
    return string.match(seal or '', '^%S+ (%d+) ') or ''
end

local changed = false
for part, name in ipairs({ 'request', 'acknowledgement' }) do
    local before, generation, json, seal = known[part + 1], ARGV[2 + 3 * part], ARGV[3 + 3 * part], ARGV[4 + 3 * part]
    local there = redis.call('HGET', KEYS[1], name)
    -- What nobody believes keeps nobody from writing: a generation that is no number, beyond the highest, or not that of the JSON.
    local agrees = before and there and string.find(there, '^{"generation":' .. before .. '[,}]')
    local is_number = before and (before == '0' or string.find(before, '^[1-9]%d*$'))
    if before and not (is_number and agrees and not older(ARGV[4], before)) then
        before = nil
    end
    if json ~= '' and not (before and older(generation, before)) then
        local sealed = redis.call('HGET', KEYS[1], name .. '-seal')
        local is_same = before == generation and there == json and known[1] == ARGV[1]
        if not is_same or (seal ~= '' and older(number(sealed), number(seal))) then
            redis.call('HSET', KEYS[1], 'version', ARGV[1], name, json, name .. '-generation', generation)
            if seal == '' then
                redis.call('HDEL', KEYS[1], name .. '-seal')
            else
                redis.call('HSET', KEYS[1], name .. '-seal', seal)
            end
            changed = true
        end
    end
end
if changed then
    redis.call('SADD', KEYS[2], ARGV[2])
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'port', ARGV[2])
end
return ''
