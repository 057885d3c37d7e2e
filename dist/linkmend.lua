-- Wireshark and tshark: Linkmend's frames on the link, in the transparent and in the compact format.
--
--     tshark -X lua_script:linkmend.lua -r capture.pcapng
--     cp linkmend.lua ~/.local/lib/wireshark/plugins/        (for good)
--
-- Fields are named linkmend.*; `linkmend.retransmitted == 1` is a display filter. A test compares the numbers below with
-- the wire formats (crates/protocol/tests/dissector.rs), so each must be on its own line.

local ETHERTYPE_TRANSPARENT = 0x88b5
local ETHERTYPE_COMPACT = 0xabcd
local MAGIC = 0x4c4d31

-- The first byte of the transparent format.
local KIND_SHIFT = 6
local KIND_DATA = 0
local KIND_DATA_WITH_ACK = 1
local KIND_CONTROL = 2
local KIND_ESCAPED = 3
local DATA_ORDERED = 0x20
local DATA_ERA = 0x10
local DATA_RETRANSMITTED = 0x08
local CODE_MASK = 0x07
local ACK_ORDERED = 0x80
local ACK_ERA = 0x40
local ESCAPED_WITH_ACK = 0x20
local UNPROTECTED_ACK_ORDERED = 0x10
local UNPROTECTED_ACK_ERA = 0x08
local CONTROL_TYPE_MASK = 0x3f

-- EtherType codes; 0 means that the EtherType follows the header.
local CODE_1 = 0x0800
local CODE_2 = 0x86dd
local CODE_3 = 0x8100
local CODE_4 = 0x88a8
local CODE_5 = 0x0806
local CODE_6 = 0x8847
local CODE_7 = 0x8864

-- Of a data frame, and of an unprotected one with an ACK, on a link with a key.
local TAG_BYTES = 4
-- Counter and tag of a control frame there.
local SEAL_BYTES = 16
local HEARD_BYTES = 8
-- Control types.
local CONTROL_OLD_HELLO = 0
local CONTROL_HELLO = 13
local CONTROL_INIT = 1
local CONTROL_INIT_ECHO = 2
local CONTROL_START = 3
local CONTROL_FEEDBACK = 10
local CONTROL_DUMMY = 9
local CONTROL_FIN = 6
local CONTROL_FIN_ECHO = 7
local CONTROL_PROBE = 12

-- Flags of a probe; set means the backup link, or true.
local PROBE_PATH = 0x01
local PROBE_ACTIVE = 0x02
local PROBE_PREFERRED = 0x04
local PROBE_FULL = 0x08
local PROBE_PRIMARY_FAILS = 0x10
local PROBE_BACKUP_FAILS = 0x20
local PROBE_PRIMARY_LOSES_FULL = 0x40
local PROBE_BACKUP_LOSES_FULL = 0x80

-- Lanes of a feedback.
local LANE_BY_CLOCK = 0x01
local LANE_COVERED_ERA = 0x02
local LANE_PAUSED = 0x04
local LANE_FROM_ERA = 0x08
local LANE_SEEN_ERA = 0x10
local RUN_OVERFLOWED = 0x8000

-- The first byte of the compact format.
local COMPACT_TYPE_SHIFT = 6
local COMPACT_DATA = 0
local COMPACT_ACK = 1
local COMPACT_NOTIFICATION = 2
local COMPACT_PIGGYBACKED = 0x20
local COMPACT_ERA = 0x10
local COMPACT_RETRANSMITTED = 0x08
local COMPACT_DUMMY = 0x04
local COMPACT_BLOCKING = 0x02

local ETHERTYPES = { CODE_1, CODE_2, CODE_3, CODE_4, CODE_5, CODE_6, CODE_7 }

local kinds = {
    [KIND_DATA] = "data",
    [KIND_DATA_WITH_ACK] = "data with ACK",
    [KIND_CONTROL] = "control",
    [KIND_ESCAPED] = "escaped",
}
local controls = {
    [CONTROL_HELLO] = "hello",
    [CONTROL_OLD_HELLO] = "hello of an older version",
    [CONTROL_INIT] = "init",
    [CONTROL_INIT_ECHO] = "init-echo",
    [CONTROL_START] = "start",
    [CONTROL_FEEDBACK] = "feedback",
    [CONTROL_DUMMY] = "dummy",
    [CONTROL_FIN] = "fin",
    [CONTROL_FIN_ECHO] = "fin-echo",
    [CONTROL_PROBE] = "probe",
}
-- Where their bodies end, behind the EtherType; that of a feedback depends on its holes.
local CONTROL_BODY_END = {
    [CONTROL_HELLO] = 20,
    [CONTROL_INIT] = 9,
    [CONTROL_INIT_ECHO] = 17,
    [CONTROL_START] = 12,
    [CONTROL_DUMMY] = 26,
    [CONTROL_FIN] = 8,
    [CONTROL_FIN_ECHO] = 8,
    [CONTROL_PROBE] = 67,
}
local compact_types = {
    [COMPACT_DATA] = "data",
    [COMPACT_ACK] = "ACK",
    [COMPACT_NOTIFICATION] = "loss notification",
}

local linkmend = Proto("linkmend", "Linkmend")
local compact = Proto("linkmend_compact", "Linkmend, compact format")

linkmend.prefs.key = Pref.bool("The link has a key", false,
    "Protected frames have a tag behind their header, also before a control frame with a seal shows it")

-- Whether a control frame with a seal was seen: those of a link without a key are padded with zeros.
local is_sealed = false
function linkmend.init()
    is_sealed = false
end

local f = {
    kind = ProtoField.uint8("linkmend.kind", "Kind", base.DEC, kinds, 0xc0),
    control = ProtoField.uint8("linkmend.control", "Control type", base.DEC, controls, CONTROL_TYPE_MASK),
    ordered = ProtoField.bool("linkmend.ordered", "Ordered lane", 8, nil, DATA_ORDERED),
    era = ProtoField.bool("linkmend.era", "Era", 8, nil, DATA_ERA),
    retransmitted = ProtoField.bool("linkmend.retransmitted", "Retransmitted", 8, nil, DATA_RETRANSMITTED),
    code = ProtoField.uint8("linkmend.code", "EtherType code", base.DEC, nil, CODE_MASK),
    sequence = ProtoField.uint16("linkmend.sequence", "Sequence number"),
    ack = ProtoField.uint16("linkmend.ack", "Everything before this has arrived"),
    ack_ordered = ProtoField.bool("linkmend.ack_ordered", "ACK of the ordered lane"),
    ack_era = ProtoField.bool("linkmend.ack_era", "Era of the ACK"),
    tag = ProtoField.uint32("linkmend.tag", "Tag", base.HEX),
    seal_heard = ProtoField.uint64("linkmend.seal_heard", "Counter heard"),
    seal_counter = ProtoField.uint64("linkmend.seal_counter", "Counter of the seal"),
    seal_tag = ProtoField.uint64("linkmend.seal_tag", "Tag of the seal", base.HEX),
    ethertype = ProtoField.uint16("linkmend.ethertype", "Original EtherType", base.HEX),
    session = ProtoField.uint32("linkmend.session", "Session"),
    hello_nonce = ProtoField.uint64("linkmend.hello_nonce", "Nonce", base.HEX),
    hello_echo = ProtoField.uint64("linkmend.hello_echo", "Nonce heard", base.HEX),
    nonce = ProtoField.uint32("linkmend.nonce", "Nonce", base.HEX),
    window = ProtoField.uint32("linkmend.window", "Window (frames)"),
    number = ProtoField.uint16("linkmend.feedback", "Number of the feedback"),
    stamp = ProtoField.uint16("linkmend.stamp", "Stamp of the dummy"),
    lost = ProtoField.uint32("linkmend.lost_total", "Frames lost so far"),
    overflows = ProtoField.uint16("linkmend.rx_overflow_total", "Rx buffer overflows so far"),
    cumulative = ProtoField.uint32("linkmend.cumulative", "Everything before this has arrived"),
    from = ProtoField.uint16("linkmend.from", "Reports from"),
    from_era = ProtoField.bool("linkmend.from_era", "Era of the first reported"),
    covered = ProtoField.uint16("linkmend.covered", "Reports to before"),
    covered_era = ProtoField.bool("linkmend.covered_era", "Era of the end of the report"),
    seen = ProtoField.uint16("linkmend.seen", "Has seen up to before"),
    seen_era = ProtoField.bool("linkmend.seen_era", "Era of the last seen"),
    paused = ProtoField.bool("linkmend.paused", "Paused"),
    by_clock = ProtoField.bool("linkmend.by_clock", "Gives up by the clock"),
    missing = ProtoField.uint16("linkmend.missing", "First missing"),
    missing_length = ProtoField.uint16("linkmend.missing_length", "Frames missing"),
    overflowed = ProtoField.bool("linkmend.overflowed", "Arrived, but found no room"),
    next = ProtoField.uint32("linkmend.next", "Next number"),
    writer = ProtoField.uint32("linkmend.writer", "Number of the writer", base.HEX),
    probe_number = ProtoField.uint32("linkmend.probe", "Number of the probe"),
    decision = ProtoField.uint32("linkmend.decision", "Number of the decision"),
    challenge = ProtoField.uint32("linkmend.challenge", "Challenge", base.HEX),
    echo = ProtoField.uint32("linkmend.echo", "Challenge heard", base.HEX),
    probe_stamp = ProtoField.uint32("linkmend.probe_stamp", "Written at (us)"),
    takes = ProtoField.uint32("linkmend.takes", "Takes frames by the peer's decision"),
    preference = ProtoField.uint32("linkmend.preference", "Number of the preference"),
    preference_by = ProtoField.uint32("linkmend.preference_by", "Preferred by", base.HEX),
    needs = ProtoField.uint32("linkmend.needs", "Detection time (ns)"),
    interval = ProtoField.uint32("linkmend.interval", "Time to the next probe (ns)"),
    on_backup = ProtoField.bool("linkmend.on_backup", "Sent on the backup link", 8, nil, PROBE_PATH),
    uses_backup = ProtoField.bool("linkmend.uses_backup", "Uses the backup link", 8, nil, PROBE_ACTIVE),
    prefers_backup = ProtoField.bool("linkmend.prefers_backup", "Prefers the backup link", 8, nil, PROBE_PREFERRED),
    full_size = ProtoField.bool("linkmend.full_size", "Of full size", 8, nil, PROBE_FULL),
    primary_fails = ProtoField.bool("linkmend.primary_fails", "Hears nothing on the primary link", 8, nil, PROBE_PRIMARY_FAILS),
    backup_fails = ProtoField.bool("linkmend.backup_fails", "Hears nothing on the backup link", 8, nil, PROBE_BACKUP_FAILS),
    primary_loses_full = ProtoField.bool("linkmend.primary_loses_full", "No frames of full size on the primary link", 8, nil, PROBE_PRIMARY_LOSES_FULL),
    backup_loses_full = ProtoField.bool("linkmend.backup_loses_full", "No frames of full size on the backup link", 8, nil, PROBE_BACKUP_LOSES_FULL),
    silent = ProtoField.uint32("linkmend.silent", "Nothing heard for (us)"),
    later = ProtoField.uint32("linkmend.later", "Slower than the other link by (us)"),
    probes_lost = ProtoField.uint8("linkmend.probes_lost", "Probes lost of the latest 128"),
    held_from = ProtoField.uint32("linkmend.held_from", "First number still held"),
    compact_type = ProtoField.uint8("linkmend.compact_type", "Type", base.DEC, compact_types, 0xc0),
    compact_blocking = ProtoField.bool("linkmend.blocking", "Blocking (ordered)", 8, nil, COMPACT_BLOCKING),
    compact_dummy = ProtoField.bool("linkmend.dummy", "Dummy", 8, nil, COMPACT_DUMMY),
    compact_piggybacked = ProtoField.bool("linkmend.piggybacked", "On a frame", 8, nil, COMPACT_PIGGYBACKED),
    leading = ProtoField.uint16("linkmend.leading_ack", "Leading ACK"),
    hole = ProtoField.uint16("linkmend.hole", "Frames missing"),
}
for _, field in pairs(f) do
    table.insert(linkmend.fields, field)
end

local truncated = ProtoExpert.new("linkmend.truncated", "The frame ends within a field of Linkmend's",
    expert.group.MALFORMED, expert.severity.ERROR)
linkmend.experts = { truncated }

local ethertypes = DissectorTable.get("ethertype")

-- A dissector that says so when a frame ends before the fields that it should have: it was cut, or damaged.
local function tolerant(dissect)
    return function(buffer, pinfo, root)
        local is_whole, answer = pcall(dissect, buffer, pinfo, root)
        if is_whole then return answer end
        if not tostring(answer):find("out of bounds", 1, true) then error(answer, 0) end
        root:add(linkmend, buffer()):add_proto_expert_info(truncated)
        pinfo.cols.info:append(" (truncated)")
        return buffer:len()
    end
end

local function has(byte, bit)
    return math.floor(byte / bit) % 2 == 1
end

local function payload(ethertype, buffer, pinfo, root)
    -- `try` sets the columns itself; what Linkmend has to say comes in front of it.
    local said = tostring(pinfo.cols.info)
    -- A malformed frame inside is shown as one, and raises an error here.
    pcall(ethertypes.try, ethertypes, ethertype, buffer, pinfo, root)
    pinfo.cols.info:prepend(said .. " | ")
end

-- The original frame behind a header that ends at `at`.
local function original(buffer, at, code, tree, pinfo, root)
    local ethertype = ETHERTYPES[code]
    if linkmend.prefs.key or is_sealed then
        tree:add(f.tag, buffer(at, TAG_BYTES))
        at = at + TAG_BYTES
    end
    if ethertype then
        tree:add(f.ethertype, ethertype):set_generated()
    else
        tree:add(f.ethertype, buffer(at, 2))
        ethertype = buffer(at, 2):uint()
        at = at + 2
    end
    tree:set_len(at)
    payload(ethertype, buffer(at):tvb(), pinfo, root)
end

-- A number and its era as one number, as Linkmend's own texts have it; `long` numbers have 32 bits.
local function with_era(number, era)
    return number + (era and 65536 or 0)
end

local function short(long)
    return long % 131072
end

-- A number that comes without its era, as the one of both that is nearer to `other`.
local function near(number, other)
    return short(other + (number - other + 32768) % 65536 - 32768)
end

local function lane_name(ordered)
    return ordered and "ordered" or "non-blocking"
end

local function data(buffer, first, kind, tree, pinfo, root)
    tree:add(f.ordered, buffer(0, 1))
    tree:add(f.era, buffer(0, 1))
    tree:add(f.retransmitted, buffer(0, 1))
    tree:add(f.code, buffer(0, 1))
    tree:add(f.sequence, buffer(1, 2))
    local what = has(first, DATA_RETRANSMITTED) and "copy of" or "data"
    local info = string.format("%s %s %d", what, lane_name(has(first, DATA_ORDERED)),
        with_era(buffer(1, 2):uint(), has(first, DATA_ERA)))
    local at = 3
    if kind == KIND_DATA_WITH_ACK then
        local flags = buffer(3, 1):uint()
        tree:add(f.ack_ordered, buffer(3, 1), has(flags, ACK_ORDERED))
        tree:add(f.ack_era, buffer(3, 1), has(flags, ACK_ERA))
        tree:add(f.ack, buffer(4, 2))
        info = string.format("%s, ACK of %s before %d", info, lane_name(has(flags, ACK_ORDERED)),
            with_era(buffer(4, 2):uint(), has(flags, ACK_ERA)))
        at = 6
    end
    pinfo.cols.info = info
    original(buffer, at, first % (CODE_MASK + 1), tree, pinfo, root)
end

local function lane(buffer, at, name, tree)
    local flags = buffer(at, 1):uint()
    local count = buffer(at + 11, 1):uint()
    local part = tree:add(buffer(at, 12 + 4 * count), "Lane: " .. name)
    part:add(f.cumulative, buffer(at + 1, 4))
    part:add(f.from, buffer(at + 5, 2))
    part:add(f.from_era, buffer(at, 1), has(flags, LANE_FROM_ERA))
    part:add(f.covered, buffer(at + 7, 2))
    part:add(f.covered_era, buffer(at, 1), has(flags, LANE_COVERED_ERA))
    part:add(f.seen, buffer(at + 9, 2))
    part:add(f.seen_era, buffer(at, 1), has(flags, LANE_SEEN_ERA))
    part:add(f.paused, buffer(at, 1), has(flags, LANE_PAUSED))
    part:add(f.by_clock, buffer(at, 1), has(flags, LANE_BY_CLOCK))
    for i = 0, count - 1 do
        part:add(f.missing, buffer(at + 12 + 4 * i, 2))
        local length = buffer(at + 14 + 4 * i, 2)
        part:add(f.missing_length, length, length:uint() % RUN_OVERFLOWED)
        part:add(f.overflowed, length, has(length:uint(), RUN_OVERFLOWED))
    end
    local info = string.format(" %s before %d", name, short(buffer(at + 1, 4):uint()))
    if count > 0 then
        info = string.format("%s (%d %s)", info, count, count == 1 and "hole" or "holes")
    end
    return at + 12 + 4 * count, info
end

-- Counter and tag behind the body of a control frame, on a link with a key; in a hello, behind the counter that was heard.
local function seal(buffer, at, tree, is_hello)
    local heard_at = at
    if is_hello then at = at + HEARD_BYTES end
    if buffer:len() < at + SEAL_BYTES or buffer(at, SEAL_BYTES):bytes() == ByteArray.new(("00"):rep(SEAL_BYTES)) then
        return
    end
    is_sealed = true
    if is_hello then tree:add(f.seal_heard, buffer(heard_at, HEARD_BYTES)) end
    tree:add(f.seal_counter, buffer(at, 8))
    tree:add(f.seal_tag, buffer(at + 8, 8))
end

local function control(buffer, first, tree, pinfo)
    local body_end = CONTROL_BODY_END[first % (CONTROL_TYPE_MASK + 1)]
    local kind = first % (CONTROL_TYPE_MASK + 1)
    tree:add(f.control, buffer(0, 1))
    local info = controls[kind] or "unknown control frame"
    if kind == CONTROL_PROBE then
        tree:add(f.writer, buffer(4, 4))
        for index, field in ipairs({ f.challenge, f.echo, f.probe_number, f.probe_stamp, f.decision, f.takes,
            f.preference, f.preference_by, f.needs, f.interval }) do
            tree:add(field, buffer(4 + 4 * index, 4))
        end
        local flags = buffer(48, 1)
        for _, field in ipairs({ f.on_backup, f.uses_backup, f.prefers_backup, f.full_size, f.primary_fails,
            f.backup_fails, f.primary_loses_full, f.backup_loses_full }) do
            tree:add(field, flags)
        end
        for path = 0, 1 do
            tree:add(f.silent, buffer(49 + 9 * path, 4))
            tree:add(f.later, buffer(53 + 9 * path, 4))
            tree:add(f.probes_lost, buffer(57 + 9 * path, 1))
        end
        local function link(bit) return has(flags:uint(), bit) and "backup" or "primary" end
        info = string.format("%s %d of %08x on the %s link: decision %d uses the %s link, takes by %d",
            has(flags:uint(), PROBE_FULL) and "full-size probe" or "probe", buffer(16, 4):uint(),
            buffer(4, 4):uint(), link(PROBE_PATH), buffer(24, 4):uint(), link(PROBE_ACTIVE), buffer(28, 4):uint())
    elseif kind == CONTROL_HELLO then
        tree:add(f.hello_nonce, buffer(4, 8))
        tree:add(f.hello_echo, buffer(12, 8))
    elseif kind ~= CONTROL_OLD_HELLO then
        tree:add(f.session, buffer(4, 4))
        info = string.format("%s of session %d", info, buffer(4, 4):uint())
    end
    if kind == CONTROL_INIT_ECHO or kind == CONTROL_START then
        tree:add(f.nonce, buffer(8, 4))
        if kind == CONTROL_INIT_ECHO then
            tree:add(f.window, buffer(12, 4))
        end
    elseif kind == CONTROL_FEEDBACK then
        tree:add(f.number, buffer(8, 2))
        tree:add(f.stamp, buffer(10, 2))
        tree:add(f.lost, buffer(12, 4))
        tree:add(f.overflows, buffer(16, 2))
        local at, ordered, non_blocking
        at, ordered = lane(buffer, 18, "ordered", tree)
        at, non_blocking = lane(buffer, at, "non-blocking", tree)
        body_end = at
        info = info .. ":" .. ordered .. "," .. non_blocking
    elseif kind == CONTROL_DUMMY then
        tree:add(f.stamp, buffer(8, 2))
        tree:add(f.next, buffer(10, 4)):prepend_text("Ordered lane: ")
        tree:add(f.held_from, buffer(14, 4)):prepend_text("Ordered lane: ")
        tree:add(f.next, buffer(18, 4)):prepend_text("Non-blocking lane: ")
        tree:add(f.held_from, buffer(22, 4)):prepend_text("Non-blocking lane: ")
        info = string.format("%s: ordered before %d, non-blocking before %d", info,
            short(buffer(10, 4):uint()), short(buffer(18, 4):uint()))
    end
    pinfo.cols.info = info
    if body_end then seal(buffer, body_end, tree, kind == CONTROL_HELLO) end
end

linkmend.dissector = tolerant(function(buffer, pinfo, root)
    if buffer:len() < 4 then return 0 end
    local first = buffer(0, 1):uint()
    local kind = math.floor(first / 2 ^ KIND_SHIFT)
    local with_ack = kind == KIND_ESCAPED and has(first, ESCAPED_WITH_ACK)
    local magic = buffer(1, 3):uint() == MAGIC
    -- A host's own frame of this EtherType, on a link whose other end does not speak Linkmend.
    if (kind == KIND_CONTROL or kind == KIND_ESCAPED) and not magic and not with_ack then return 0 end
    pinfo.cols.protocol = "Linkmend"
    local tree = root:add(linkmend, buffer())
    tree:add(f.kind, buffer(0, 1))
    if kind == KIND_CONTROL then
        control(buffer, first, tree, pinfo)
    elseif with_ack then
        tree:add(f.ack_ordered, buffer(0, 1), has(first, UNPROTECTED_ACK_ORDERED))
        tree:add(f.ack_era, buffer(0, 1), has(first, UNPROTECTED_ACK_ERA))
        tree:add(f.ack, buffer(1, 2))
        pinfo.cols.info = string.format("unprotected, ACK of %s before %d",
            lane_name(has(first, UNPROTECTED_ACK_ORDERED)),
            with_era(buffer(1, 2):uint(), has(first, UNPROTECTED_ACK_ERA)))
        original(buffer, 3, first % (CODE_MASK + 1), tree, pinfo, root)
    elseif kind == KIND_ESCAPED then
        pinfo.cols.info = "unprotected, escaped"
        tree:add(f.ethertype, buffer(4, 2))
        -- Not by its EtherType, which is one of ours: it is a host's own.
        tree:set_len(6)
        Dissector.get("data"):call(buffer(6):tvb(), pinfo, root)
    else
        data(buffer, first, kind, tree, pinfo, root)
    end
    return buffer:len()
end)

compact.dissector = tolerant(function(buffer, pinfo, root)
    if buffer:len() < 3 then return 0 end
    local first = buffer(0, 1):uint()
    local kind = math.floor(first / 2 ^ COMPACT_TYPE_SHIFT)
    local name = compact_types[kind]
    if not name then return 0 end
    pinfo.cols.protocol = "Linkmend"
    local tree = root:add(compact, buffer())
    local era = has(first, COMPACT_ERA)
    local value = with_era(buffer(1, 2):uint(), era)
    tree:add(f.compact_type, buffer(0, 1))
    tree:add(f.era, buffer(0, 1))
    local carries_frame = false
    if kind == COMPACT_DATA then
        tree:add(f.retransmitted, buffer(0, 1))
        tree:add(f.compact_dummy, buffer(0, 1))
        tree:add(f.compact_blocking, buffer(0, 1))
        tree:add(f.sequence, buffer(1, 2))
        carries_frame = not has(first, COMPACT_DUMMY)
        local what = has(first, COMPACT_DUMMY) and "dummy" or has(first, COMPACT_RETRANSMITTED) and "copy of" or "data"
        pinfo.cols.info = string.format("%s %s %d", what, lane_name(has(first, COMPACT_BLOCKING)), value)
    else
        tree:add(f.leading, buffer(1, 2))
        pinfo.cols.info = string.format("%s up to %d", name, value)
        if kind == COMPACT_NOTIFICATION then
            local size = buffer(3, 1):uint()
            -- What 8 bits keep of it.
            if size == 0 then size = 256 end
            tree:add(f.hole, buffer(3, 1), size)
            tree:add(f.missing, buffer(4, 2))
            pinfo.cols.info = string.format("%s: ACK up to %d, %d missing from %d", name, value, size,
                near(buffer(4, 2):uint(), value))
        else
            tree:add(f.compact_piggybacked, buffer(0, 1))
            carries_frame = has(first, COMPACT_PIGGYBACKED)
        end
    end
    if carries_frame then
        tree:set_len(3)
        payload(CODE_1, buffer(3):tvb(), pinfo, root)
    end
    return buffer:len()
end)

ethertypes:add(ETHERTYPE_TRANSPARENT, linkmend)
ethertypes:add(ETHERTYPE_COMPACT, compact)
