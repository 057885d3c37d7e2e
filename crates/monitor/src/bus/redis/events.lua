-- The next events of a stream: for each its number, and the ports that it names. A name that is longer than any port's is cut
-- off and ends with a space, so that it is none.
-- KEYS: the stream. ARGV: the group, '' to read without one; the most events; after which one; the most bytes of a name.
local streams
if ARGV[1] == '' then
    streams = redis.pcall('XREAD', 'COUNT', ARGV[2], 'STREAMS', KEYS[1], ARGV[3])
else
    streams = redis.pcall('XREADGROUP', 'GROUP', ARGV[1], ARGV[1], 'COUNT', ARGV[2], 'STREAMS', KEYS[1], ARGV[3])
end
if not streams or streams.err then
    return streams
end
local events = {}
for _, entry in ipairs(streams[1][2]) do
    local ports, fields = {}, entry[2] or {}
    for place = 1, #fields, 2 do
        if fields[place] == 'port' then
            local name = fields[place + 1]
            ports[#ports + 1] = #name <= tonumber(ARGV[4]) and name or string.sub(name, 1, 40) .. ' '
        end
    end
    events[#events + 1] = { entry[1], ports }
end
return events
